import type { Benchmark, Case } from "../harness/benchmark.ts";
import { drain } from "../harness/drain.ts";
import { drainedFigures } from "../harness/drained.ts";

const first = 20_000;

export const backlog: Benchmark = {
  name: "backlog",
  title: "The first 20,000 of a backlog",
  about:
    "How fast the first 20,000 jobs run where 20,000, 200,000 or a million are queued. The consumer " +
    "is stopped after them; what it has not run must still be there.",
  once: true,
  cases: [queued(20_000), queued(200_000), queued(1_000_000, true)],
};

function queued(jobs: number, heavy = false): Case {
  return {
    name: `of ${jobs.toLocaleString("en")}`,
    heavy,
    async measure(place) {
      const kinds = ["noop"];
      const due = place.scaled(jobs);
      await place.prepare(kinds);
      await place.fill({ from: 0, count: due, kinds });
      await place.settle();
      const run = await drain(place, { kinds, consumers: 1, due, first: place.scaled(first) });
      return { figures: drainedFigures(run, place.bench.limitMs) };
    },
  };
}
