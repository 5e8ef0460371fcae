import type { Benchmark, Case } from "../harness/benchmark.ts";
import { drain } from "../harness/drain.ts";
import { drainedFigures } from "../harness/drained.ts";

const due = 20_000;
const delayed = 500_000;
const hourMs = 3_600_000;
const kinds = ["noop"];

export const delayedJobs: Benchmark = {
  name: "delayed",
  title: "Behind delayed jobs",
  about:
    "20,000 due jobs alone, and behind 500,000 that are delayed by an hour; both in ten priorities " +
    "where the queue knows any, so that delayed jobs of a better priority are in the way. None of " +
    "the delayed ones may run, and all must still be there.",
  once: true,
  cases: [behind(0), behind(delayed, true)],
};

export const priorities: Benchmark = {
  name: "priorities",
  title: "Ten priorities",
  about: "20,000 jobs, all of one priority, and in ten in turn.",
  once: true,
  cases: [over(1), over(10)],
};

function behind(waiting: number, heavy = false): Case {
  return {
    name: waiting === 0 ? "20,000 due, none delayed" : "20,000 due behind 500,000 delayed",
    heavy,
    async measure(place) {
      const count = place.scaled(due);
      const later = waiting === 0 ? 0 : place.scaled(waiting);
      await place.prepare(kinds);
      if (later > 0) {
        const plan = { from: count, count: later, kinds, priorities: 10, delayMs: hourMs };
        await place.fill(plan);
      }
      await place.fill({ from: 0, count, kinds, priorities: 10 });
      await place.settle();
      const run = await drain(place, { kinds, consumers: 1, due: count, waiting: later });
      return { figures: drainedFigures(run, place.bench.limitMs) };
    },
  };
}

function over(priorities: number): Case {
  return {
    name: priorities === 1 ? "one priority" : `${priorities} priorities`,
    async measure(place) {
      const count = place.scaled(due);
      await place.prepare(kinds);
      await place.fill({ from: 0, count, kinds, priorities });
      await place.settle();
      const run = await drain(place, { kinds, consumers: 1, due: count });
      return { figures: drainedFigures(run, place.bench.limitMs) };
    },
  };
}
