import type { BenchmarkResults, Results } from "../harness/results.ts";
import { bars } from "./bars.ts";
import { type Line, lines } from "./lines.ts";

export interface Chart {
  /** For its file. */
  readonly name: string;
  readonly benchmark: string;
  readonly title: string;
  readonly svg: string;
}

/** The charts of a run: the medians of each benchmark, and what changed on the way where it tells so. */
export function charts({ benchmarks }: Results): Chart[] {
  return benchmarks
    .filter(({ cases }) => cases.some(({ measured }) => measured.length > 0))
    .flatMap((benchmark) => {
      const { name, title } = benchmark;
      const medians = { name, benchmark: name, title, svg: bars(benchmark) };
      return [medians, ...onTheWay(benchmark)];
    });
}

function onTheWay({ name: benchmark, cases }: BenchmarkResults): Chart[] {
  return cases.flatMap((each) => {
    const all: Line[] = each.measured.flatMap(({ contender, series }) =>
      series.map((one) => ({ contender, series: one })),
    );
    const names = [...new Set(all.map(({ series }) => series.name))];
    return names.map((what) => {
      const title = `${each.name}: ${what}`;
      const own = all.filter(({ series }) => series.name === what);
      const name = `${benchmark}-${what.replaceAll(" ", "-")}`;
      return { name, benchmark, title, svg: lines(title, own) };
    });
  });
}
