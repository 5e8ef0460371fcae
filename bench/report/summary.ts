import type { Figure } from "../harness/figures.ts";
import type { CaseResults } from "../harness/results.ts";
import { median } from "../harness/statistics.ts";

/** All rounds of one figure of one contender. */
export interface Summary {
  readonly contender: string;
  readonly median: number;
  readonly rounds: readonly number[];
  readonly notes: readonly string[];
}

/** What the figures of a case are: the same name may bear another unit elsewhere. */
export function figuresOf({ measured }: CaseResults): Omit<Figure, "value" | "note">[] {
  const found = new Map<string, Omit<Figure, "value" | "note">>();
  for (const each of measured.flatMap(({ rounds }) => rounds).flat()) {
    if (!found.has(each.name)) found.set(each.name, each);
  }
  return [...found.values()].map(({ name, unit, better }) => ({ name, unit, better }));
}

/** That figure of each contender that has it. */
export function summaries({ measured }: CaseResults, name: string): Summary[] {
  return measured.flatMap(({ contender, rounds }) => {
    const own = rounds.flat().filter((figure) => figure.name === name);
    if (own.length === 0) return [];
    const values = own.map(({ value }) => value);
    const notes = [...new Set(own.flatMap(({ note }) => note ?? []))];
    return [{ contender, median: median(values), rounds: values, notes }];
  });
}
