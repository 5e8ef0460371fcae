/**
 * Writes the reports and charts of runs again, and the results part of bench/README.md, from the files
 * that the runs left; of several, one after the other:
 *
 *   node --import jiti/register bench/report.ts bench/results/2026-11-30-rivals.json
 */
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { Results } from "./harness/results.ts";
import { writeReadme, writeReport } from "./harness/write.ts";

const files = process.argv.slice(2);
if (files.length === 0 || !files.every((file) => file.endsWith(".json"))) {
  throw new Error("Name results files: bench/results/2026-11-30-rivals.json, say.");
}
const runs = files.map((file) => {
  const results = JSON.parse(readFileSync(file, "utf8")) as Results;
  if (results.format !== 1) throw new Error(`${file} has format ${results.format}, known is 1.`);
  return { results, base: basename(file, ".json"), folder: dirname(file) };
});
for (const { results, base, folder } of runs) {
  for (const written of writeReport(results, folder, base)) console.log(`written: ${written}`);
}
console.log(`written: ${writeReadme(runs)}`);
