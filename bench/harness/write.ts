import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { charts } from "../report/charts.ts";
import { markdown } from "../report/markdown.ts";
import { chartFile, readmePart, withResults } from "../report/readme.ts";
import type { Results } from "./results.ts";

/** Where results are kept. */
export const resultsFolder = fileURLToPath(new URL("../results", import.meta.url));

const readmeFile = fileURLToPath(new URL("../README.md", import.meta.url));

/** All that was measured, from which everything else can be written again. Answers the file. */
export function writeResults(results: Results, folder: string, base: string): string {
  mkdirSync(folder, { recursive: true });
  return written(join(folder, `${base}.json`), `${JSON.stringify(results, null, 1)}\n`);
}

/** The report and the charts. Answers the files. */
export function writeReport(results: Results, folder: string, base: string): string[] {
  return [
    written(join(folder, `${base}.md`), markdown(results)),
    ...charts(results).map((chart) => written(join(folder, chartFile(chart, base)), chart.svg)),
  ];
}

/** The results part of bench/README.md, one run after the other; it links to bench/results/. */
export function writeReadme(runs: readonly { results: Results; base: string }[]): string {
  const readme = readFileSync(readmeFile, "utf8");
  const parts = runs.map(({ results, base }) => readmePart(results, base));
  return written(readmeFile, withResults(readme, parts.join("\n\n")));
}

function written(file: string, content: string): string {
  writeFileSync(file, content);
  return relative(process.cwd(), file);
}
