import { shuffled } from "../../races/support/random.ts";
import { type FaultKind, faultKinds } from "./faults.ts";
import { type Dice, dice } from "./random.ts";

/** A fault and when it comes, in milliseconds from the start. Its target is drawn from `dice`. */
export interface Planned {
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly dice: Dice;
}

/** One fault in so many milliseconds, where there is time for more than one of each kind. */
const everyMs = 1_500;

/** The first and the last part of the run stay without new faults. */
const firstAt = 0.08;
const lastAt = 0.9;

/** Deals every kind of fault once, in any order, and then any kind; evenly over the time, with jitter. */
export function deal(seed: number, durationMs: number): Planned[] {
  const own = dice(seed, "schedule");
  const more = Math.max(0, Math.floor(durationMs / everyMs) - faultKinds.length);
  const kinds = [
    ...shuffled(own.random, faultKinds),
    ...Array.from({ length: more }, () => own.pick(faultKinds)),
  ];
  const gapMs = (durationMs * (lastAt - firstAt)) / kinds.length;
  return kinds.map((kind, i) => ({
    kind,
    atMs: Math.round(durationMs * firstAt + gapMs * (i + own.random() * 0.8)),
    dice: dice(seed, `fault ${i}`),
  }));
}
