import type { Figure, Series } from "../../bench/harness/figures.ts";
import type { BenchmarkResults, Results } from "../../bench/harness/results.ts";

/** A rate in each of several rounds. */
export function rates(...values: number[]): Figure[][] {
  return values.map((value) => [{ name: "rate", unit: "jobs/s", better: "more", value }]);
}

export const series: Series = {
  name: "rate",
  x: "jobs run",
  y: "jobs/s",
  points: [
    [50_000, 60_000],
    [100_000, 55_000],
  ],
};

/** Two contenders, one of which has a note and a line. */
export const drained: BenchmarkResults = {
  name: "drain",
  title: 'Drain <fast> & "safe"',
  about: "How it was measured.",
  cases: [
    {
      name: "one process",
      measured: [
        { contender: "leasehold", rounds: rates(50_000, 41_000, 46_000), series: [series] },
        {
          contender: "a | b",
          rounds: [[{ ...(rates(1_234)[0]?.[0] as Figure), note: "ended after 90 s" }]],
          series: [],
        },
      ],
    },
  ],
};

export function resultsOf(...benchmarks: BenchmarkResults[]): Results {
  return {
    format: 1,
    title: "Side by side",
    startedAt: "2026-11-30T08:00:00.000Z",
    finishedAt: "2026-11-30T09:00:00.000Z",
    options: { rounds: 3 },
    machine: { system: "Linux x64", cpu: "Some CPU", cores: 2, memoryGb: 8, fdatasyncMs: 0.13 },
    loadBefore: [0.1, 0.2, 0.3],
    loadAfter: [2, 1.5, 1],
    node: "v24.0.0",
    postgres: { version: "18.4", settings: { fsync: "on" } },
    redis: null,
    contenders: [
      { name: "leasehold", settings: "by default", versions: { leasehold: "0.1.0" } },
      { name: "a | b", settings: "batched", versions: { other: "1.2.3" } },
    ],
    benchmarks,
    omitted: [
      { benchmark: "drain", case: "two processes", contender: "a | b", reason: "it knows one" },
      { benchmark: "", case: "", contender: "absent", reason: "it is not installed" },
    ],
    failed: [],
  };
}
