import { nowMs } from "../child/clock.ts";
import type { Benchmark } from "../harness/benchmark.ts";
import { figure } from "../harness/figures.ts";
import { runScript } from "../harness/script.ts";
import { median } from "../harness/statistics.ts";

interface ColdDrain {
  readonly beganMs: number;
  readonly loadedMs: number;
  readonly jobMs: number;
  readonly drainedMs: number;
  readonly completed: number;
}

const script = new URL("../own/cold-drain.mjs", import.meta.url);
const starts = 10;

export const coldDrain: Benchmark = {
  name: "cold-drain",
  title: "A drain in a fresh process",
  about:
    "Processes, ten in a row, each of which loads leasehold, connects, drains the one job that is " +
    "due and ends: a serverless function's cold start. Medians of the ten; the first is thrown away, " +
    "for it reads the files from the disk.",
  contenders: ["leasehold"],
  maxRounds: 1,
  cases: [
    {
      name: "one job",
      async measure(place) {
        await place.prepare(["noop"]);
        const runs: (ColdDrain & { spawnedMs: number; endedMs: number })[] = [];
        for (let i = 0; i <= starts; i += 1) {
          await place.fill({ from: i, count: 1, kinds: ["noop"] }, { connections: 1 });
          const node = { ...place.bench.node, arguments: [] };
          const { said, spawnedMs } = await runScript<ColdDrain>(node, script, { url: place.url });
          if (said.completed !== 1) {
            throw new Error(
              `No figure, since the drain completed ${said.completed} jobs and not 1`,
            );
          }
          if (i > 0) runs.push({ ...said, spawnedMs, endedMs: nowMs() });
        }
        const ms = (name: string, of: (run: (typeof runs)[number]) => number) =>
          figure(name, "ms", "less", median(runs.map(of)));
        return {
          figures: [
            ms("from the script's first line to the job", (run) => run.jobMs - run.beganMs),
            ms("… loading leasehold", (run) => run.loadedMs - run.beganMs),
            ms(
              "… from loaded to the job: connect, define, claim",
              (run) => run.jobMs - run.loadedMs,
            ),
            ms("from the job to the drain's end", (run) => run.drainedMs - run.jobMs),
            ms("Node's own start, before it", (run) => run.beganMs - run.spawnedMs),
            ms("the whole process", (run) => run.endedMs - run.spawnedMs),
          ],
        };
      },
    },
  ],
};
