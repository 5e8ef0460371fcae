import type { Benchmark, Case } from "../harness/benchmark.ts";
import { drain } from "../harness/drain.ts";
import { drainedFigures } from "../harness/drained.ts";

const jobs = 20_000;

export const manyKinds: Benchmark = {
  name: "kinds",
  title: "Many kinds in one worker",
  about:
    "20,000 jobs of one kind, and of 100 kinds in turn, run by one worker that knows them all.",
  once: true,
  cases: [of(1), of(100)],
};

function of(count: number): Case {
  return {
    name: count === 1 ? "one kind" : `${count} kinds`,
    async measure(place) {
      const kinds = Array.from({ length: count }, (_, i) => `noop_${i}`);
      const due = place.scaled(jobs);
      await place.prepare(kinds);
      await place.fill({ from: 0, count: due, kinds });
      await place.settle();
      const run = await drain(place, { kinds, consumers: 1, due });
      return { figures: drainedFigures(run, place.bench.limitMs) };
    },
  };
}
