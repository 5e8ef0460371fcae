/**
 * Can the tests fail? Puts small faults into a copy of the SQL, one at a time (mutants/faults.mjs), and
 * shows for each which tests notice it. Ends with 1 where one is not noticed.
 *
 *   npm run mutants                 all of them
 *   npm run mutants -- cancel       those whose fault names "cancel"
 *   npm run mutants -- --shard 1/3  every third
 *
 * First the model and every pair of functions are asked, then, where they notice nothing, the rest.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { faults } from "./mutants/faults.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const parts = "package.json tsconfig.json vitest.config.ts scripts sql src test".split(" ");
// What runs on both is asked on PostgreSQL alone: it is faster there.
const onPostgres = ["--testNamePattern", "^(?!.*pglite)"];
const suites = [
  ["the model", ["test/model"]],
  ["the pairs", ["test/races/pairs"]],
  ["the functions", ["test/sql", ...onPostgres]],
  ["the races", ["test/races", ...onPostgres]],
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { shard: { type: "string", default: "1/1" } },
});
const [shard, shards] = values.shard.split("/").map(Number);
const chosen = faults.filter(
  ({ fault }, index) =>
    index % shards === shard - 1 && positionals.every((word) => fault.includes(word)),
);

// Without a fault all is well: else whatever is noticed would prove nothing.
const before = notice({ fault: "no fault" });
if (before !== undefined) throw new Error(`The tests fail without a fault${before}`);

const unnoticed = [];
for (const fault of chosen) {
  const noticed = notice(fault);
  console.log(
    `${noticed === undefined ? "NOT NOTICED" : "noticed"}: ${fault.fault}${noticed ?? ""}`,
  );
  if (noticed === undefined) unnoticed.push(fault);
}
console.log(`${chosen.length - unnoticed.length} of ${chosen.length} faults noticed`);
process.exitCode = unnoticed.length === 0 ? 0 : 1;

/** By which tests a fault is noticed; undefined where by none. */
function notice(fault) {
  const copy = mkdtempSync(join(tmpdir(), "leasehold-mutant-"));
  try {
    for (const part of parts)
      cpSync(join(root, part), join(copy, part), { recursive: true, filter });
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    if (fault.file !== undefined) put(fault, join(copy, "sql", fault.file));
    for (const [name, args] of suites) {
      const failed = failedTests(copy, args, fault);
      if (failed.length > 0) return ` — by ${name}: ${failed[0]}`;
    }
    return undefined;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function filter(path) {
  return !path.includes("node_modules") && !path.endsWith("sql.generated.ts");
}

function put({ fault, from, to }, file) {
  const text = readFileSync(file, "utf8");
  const found = text.split(from).length - 1;
  if (found !== 1)
    throw new Error(`"${fault}": its text stands ${found} times in ${file}; mend it`);
  // A function, since a "$" in the text is no pattern.
  writeFileSync(
    file,
    text.replace(from, () => to),
  );
}

/** The names of the tests that fail; throws where the run itself breaks off, which proves nothing. */
function failedTests(copy, args, { fault }) {
  const report = join(copy, "report.json");
  rmSync(report, { force: true });
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const options = ["--bail=1", "--reporter=json", `--outputFile.json=${report}`];
  const run = spawnSync(process.execPath, [vitest, "run", ...options, ...args], {
    cwd: copy,
    encoding: "utf8",
  });
  let results;
  try {
    results = JSON.parse(readFileSync(report, "utf8")).testResults;
  } catch {
    throw new Error(`"${fault}" could not be tested:\n${run.stdout}\n${run.stderr}`);
  }
  const failed = results
    .flatMap((file) => [...file.assertionResults, { ...file, fullName: file.message }])
    .filter(({ status, fullName }) => status === "failed" && fullName !== "")
    .map(({ fullName }) => fullName.split("\n")[0]);
  if (failed.length === 0 && run.status !== 0) {
    throw new Error(`"${fault}" could not be tested:\n${run.stdout}\n${run.stderr}`);
  }
  return failed;
}
