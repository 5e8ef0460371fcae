import type { Benchmark, Case } from "../harness/benchmark.ts";
import { drain as drainAll } from "../harness/drain.ts";
import { drainedFigures } from "../harness/drained.ts";

const jobs = 50_000;

export const drain: Benchmark = {
  name: "drain",
  title: "Drain",
  about:
    "50,000 jobs, enqueued before, `vacuum (analyze)` and a checkpoint after that. The handlers do " +
    "nothing, or wait for a timer of 1 ms. The clock runs from the consumers' being told to go, each " +
    "connected and with its first jobs in hand, until the last outcome is recorded: the queue says " +
    "that nothing is unfinished, or the consumers' stop has resolved. Jobs in hand at the start are " +
    "not counted. Beside it the CPU time of the consumers and of the database (all of PostgreSQL, and Redis), which tells more than " +
    "the rate where a machine is noisy, and the most resident memory that a consumer had.",
  cases: [
    drained("one process", 1, 0),
    drained("two processes", 2, 0),
    drained("one process, handlers of 1 ms", 1, 1),
  ],
};

function drained(name: string, consumers: number, handlerMs: number): Case {
  return {
    name,
    async measure(place) {
      const kinds = ["noop"];
      const due = place.scaled(jobs);
      await place.prepare(kinds);
      await place.fill({ from: 0, count: due, kinds });
      await place.settle();
      const run = await drainAll(place, { kinds, consumers, due, handlerMs });
      return { figures: drainedFigures(run, place.bench.limitMs) };
    },
  };
}
