import { fileURLToPath } from "node:url";
import type { Contender } from "../contenders/contender.ts";
import type { Bench } from "./bench.ts";
import type { Benchmark, Case } from "./benchmark.ts";
import { contendersOf } from "./choose.ts";
import type { Measured } from "./figures.ts";
import { Place, TooSlow } from "./place.ts";
import type { CaseResults, Results } from "./results.ts";
import { median } from "./statistics.ts";

/** Where the project lies is nobody's concern who reads the results. */
const root = fileURLToPath(new URL("../../", import.meta.url));

export interface RunOptions {
  readonly rounds: number;
  /** Without the heavy cases, and with one round of what is measured once. */
  readonly quick: boolean;
  /** Told of each figure, for whoever waits. */
  tell(line: string): void;
  /** Called after each benchmark: a run of hours must not lose what it has. */
  save(): void;
}

/** Measures one case of one contender, each time in a fresh database. */
export type Measuring = (contender: string, measure: Case["measure"]) => Promise<Measured>;

/** Measures everything, one after the other, and puts it into `results`. */
export async function runAll(
  measuring: Measuring,
  benchmarks: readonly Benchmark[],
  contenders: readonly Pick<Contender, "name" | "cannot">[],
  results: Pick<Results, "benchmarks" | "omitted" | "failed">,
  options: RunOptions,
): Promise<void> {
  for (const benchmark of benchmarks) {
    const names = contendersOf(
      benchmark,
      contenders.map(({ name }) => name),
      fastestRivals(results),
    );
    const able = names.filter((name) => {
      const reason = contenders.find((each) => each.name === name)?.cannot?.[benchmark.name];
      if (reason !== undefined) {
        results.omitted.push({ benchmark: benchmark.name, case: "", contender: name, reason });
      }
      return reason === undefined;
    });
    const { name, title, about } = benchmark;
    const cases: CaseResults[] = [];
    results.benchmarks.push({ name, title, about, cases });
    for (const each of benchmark.cases) {
      if (each.heavy && options.quick) continue;
      const measured: CaseResults = { name: each.name, measured: [] };
      cases.push(measured);
      await runCase(measuring, benchmark, each, able, results, measured, options);
    }
    options.save();
  }
}

/** Rounds alternate: each contender once, then all again. Who fails or is too slow leaves. */
async function runCase(
  measuring: Measuring,
  { name: benchmark, maxRounds = Number.POSITIVE_INFINITY, once = false }: Benchmark,
  { name, measure }: Case,
  contenders: readonly string[],
  results: Pick<Results, "omitted" | "failed">,
  into: CaseResults,
  options: RunOptions,
): Promise<void> {
  const left = new Set(contenders);
  const rounds = once && options.quick ? 1 : Math.min(options.rounds, maxRounds);
  for (let round = 1; round <= rounds; round += 1) {
    for (const contender of left) {
      const what = `${benchmark}, ${name}: ${contender}`;
      try {
        const measured = await measuring(contender, measure);
        add(into, contender, measured);
        options.tell(`${what}, round ${round} of ${rounds}: ${shown(measured)}`);
      } catch (error) {
        left.delete(contender);
        into.measured.splice(0, Number.POSITIVE_INFINITY, ...without(into, contender));
        const reason = (error instanceof Error ? error.message : String(error)).replaceAll(
          root,
          "",
        );
        const omission = { benchmark, case: name, contender, reason };
        (error instanceof TooSlow ? results.omitted : results.failed).push(omission);
        options.tell(`${what}: ${error instanceof TooSlow ? "left out" : "FAILED"}, ${reason}`);
      }
    }
  }
}

/** On the server of a run. */
export function inFreshPlaces(bench: Bench): Measuring {
  return async (contender, measure) => {
    const place = await Place.open(bench, contender);
    try {
      return await measure(place);
    } finally {
      await place.close();
    }
  };
}

function add(into: CaseResults, contender: string, { figures, series = [] }: Measured): void {
  const found = into.measured.find((each) => each.contender === contender);
  if (found === undefined) into.measured.push({ contender, rounds: [figures], series });
  else {
    found.rounds.push(figures);
    found.series = series;
  }
}

/** A contender that failed in one round has no figure, whatever the rounds before came to. */
function without({ measured }: CaseResults, contender: string) {
  return measured.filter((each) => each.contender !== contender);
}

function shown({ figures }: Measured): string {
  return figures
    .slice(0, 3)
    .map(({ name, value, unit }) => `${name} ${Number(value.toPrecision(3))} ${unit}`)
    .join(", ");
}

/** The two that drained fastest in this run, one process; undefined where it measured no drain. */
export function fastestRivals({ benchmarks }: Pick<Results, "benchmarks">): string[] | undefined {
  const drained = benchmarks.find(({ name }) => name === "drain")?.cases[0]?.measured;
  return drained
    ?.filter(({ contender }) => contender !== "leasehold" && contender !== "bare SQL")
    .map(({ contender, rounds }) => ({
      contender,
      rate: median(rounds.map((figures) => figures[0]?.value ?? 0)),
    }))
    .sort((one, other) => other.rate - one.rate)
    .slice(0, 2)
    .map(({ contender }) => contender);
}
