import { mergedCounts, type Runs } from "../child/tally.ts";

/** What must be true of a run, or it is no figure. */
export interface Expected {
  /** These numbers were there to be run: from 0 to below this. */
  readonly due: number;
  /** Whether all of them must have run; else the run was ended before. */
  readonly all: boolean;
  /** Others that were there and must not run. */
  readonly waiting: number;
  /** What the queue says is in it and not finished, afterwards. */
  readonly unfinished: number;
}

/** So many numbers are named at the most. */
const named = 5;

/** Throws where a job was lost, ran twice, or ran that must not, and names it. */
export function checkRuns(all: readonly Runs[], expected: Expected): void {
  const faults = faultsIn(all, expected);
  if (faults.length > 0) throw new Error(`No figure, since ${faults.join("; ")}`);
}

function faultsIn(all: readonly Runs[], { due, all: whole, waiting, unfinished }: Expected) {
  const counts = mergedCounts(all);
  const twice: number[] = [];
  const lost: number[] = [];
  const early: number[] = [];
  let ran = 0;
  for (let n = 0; n < Math.max(due, counts.length); n += 1) {
    const count = counts[n] ?? 0;
    if (count > 0) ran += 1;
    if (count > 1) twice.push(n);
    if (count > 0 && n >= due) early.push(n);
    if (count === 0 && n < due && whole) lost.push(n);
  }
  const strange = all.flatMap((each) => each.strange);
  const left = waiting + due - ran;
  return [
    ...fault(twice, "ran twice"),
    ...fault(lost, "never ran"),
    ...fault(early, "ran that were not due"),
    ...fault(strange, "ran that are no number"),
    ...(unfinished === left
      ? []
      : [`the queue says that ${unfinished} jobs are unfinished, and not ${left}`]),
  ];
}

function fault(which: readonly (number | string)[], what: string): string[] {
  if (which.length === 0) return [];
  const more = which.length > named ? ", …" : "";
  return [`${which.length} jobs ${what}: ${which.slice(0, named).join(", ")}${more}`];
}
