/**
 * How fast is it, and beside what? Measures leasehold and bare SQL, or with --rivals other queues as
 * well, on a PostgreSQL of its own, and writes what it found to bench/results/. bench/README.md says
 * what is measured and how.
 *
 *   npm run bench                                       own figures
 *   npm run bench:rivals                                side by side with the rivals
 *   npm run bench -- --only drain --scale 0.02          a trial, which writes no file
 *   npm run bench -- --help                             all options
 */
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { benchmarks } from "./benchmarks/all.ts";
import { listAbsent, listContenders } from "./contenders/all.ts";
import type { Bench } from "./harness/bench.ts";
import { chosen, slug } from "./harness/choose.ts";
import { commandOptions, help } from "./harness/command-options.ts";
import { processCpuSeconds } from "./harness/cpu.ts";
import { load, machine } from "./harness/machine.ts";
import { nodeFor, nodeVersion } from "./harness/node.ts";
import { startRedis } from "./harness/redis.ts";
import type { Results } from "./harness/results.ts";
import { inFreshPlaces, runAll } from "./harness/run.ts";
import { BenchServer } from "./harness/server.ts";
import { versionsOf } from "./harness/versions.ts";
import { resultsFolder, writeReadme, writeReport, writeResults } from "./harness/write.ts";
import { markdown } from "./report/markdown.ts";

if (process.argv.includes("--help")) {
  console.log(help);
  process.exit();
}

const options = commandOptions(process.argv.slice(2));
const contenders = chosen("with", await listContenders(options.rivals), options.with);
const absent = options.rivals ? await listAbsent() : [];
const picked = chosen("only", benchmarks, options.only).filter(
  ({ long }) => options.long || !long || options.only !== undefined,
);
const node = nodeFor(options.rivals);
const loadBefore = load();

const redis = options.rivals ? await startRedis() : undefined;
const server = await BenchServer.start();
const bench: Bench = {
  server,
  node,
  env: redis === undefined ? {} : { REDIS_URL: redis.url },
  cpuSeconds() {
    const ofPostgres = server.cpuSeconds();
    const ofRedis = redis === undefined ? 0 : processCpuSeconds(redis.pid);
    return ofPostgres === undefined || ofRedis === undefined ? undefined : ofPostgres + ofRedis;
  },
  scale: options.scale,
  limitMs: options.limitMs,
  fillLimitMs: options.fillLimitMs,
  minutes: options.minutes,
};
const { out, name, only, with: asked, ...rest } = options;
const results: Results = {
  format: 1,
  title: options.rivals ? "Side by side with other queues" : "Own figures",
  startedAt: new Date().toISOString(),
  finishedAt: "",
  options: { ...rest, only: only ?? "all", with: asked ?? "all" },
  machine: machine(server.dataDir === undefined ? tmpdir() : dirname(dirname(server.dataDir))),
  loadBefore,
  loadAfter: [],
  node: nodeVersion(node),
  postgres: await server.description(),
  redis: redis?.description ?? null,
  contenders: contenders.map((each) => ({
    name: each.name,
    settings: each.settings,
    versions: versionsOf(each.packages),
  })),
  benchmarks: [],
  omitted: absent.map(({ name: contender, reason }) => ({
    ...{ benchmark: "", case: "", contender, reason },
  })),
  failed: [],
};

/** A part of a run does not take the place of a whole one of that day. */
const part = [only, asked].filter((each) => each !== undefined);
const called = name ?? [options.rivals ? "rivals" : "own", ...part].join("-");
const base = `${results.startedAt.slice(0, 10)}-${slug(called)}`;
const isTrial = options.scale !== 1 && out === undefined;

/** What there is so far. A trial writes no file, unless it is told where. */
function save(): string[] {
  results.finishedAt = new Date().toISOString();
  results.loadAfter = load();
  return isTrial ? [] : [writeResults(results, out ?? resultsFolder, base)];
}

/** The README shows a whole run beside the rivals, and no part of one. */
function report(): string[] {
  if (isTrial) return [];
  const files = writeReport(results, out ?? resultsFolder, base);
  const isWhole = options.rivals && part.length === 0 && out === undefined;
  return isWhole ? [...files, writeReadme([{ results, base }])] : files;
}

try {
  await runAll(inFreshPlaces(bench), picked, contenders, results, {
    rounds: options.rounds,
    quick: options.quick,
    tell: (line) => console.error(line),
    save,
  });
} finally {
  await server.stop();
  await redis?.stop();
}
const written = [...save(), ...report()];
console.log(markdown(results));
for (const file of written) console.error(`written: ${file}`);
if (results.failed.length > 0) {
  console.error(`${results.failed.length} figures FAILED: see above.`);
  process.exitCode = 1;
}
