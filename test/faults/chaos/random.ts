import { pick, seeded } from "../../races/support/random.ts";

/** The choices of one actor, which are its own: what others draw changes none of them. */
export interface Dice {
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number;
  /** True in so many of a hundred throws. */
  chance(percent: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** From 0 up to 1. */
  readonly random: () => number;
}

/** The same name and seed make the same choices. What the run makes of them depends on the moment. */
export function dice(seed: number, name: string): Dice {
  let mixed = seed | 0;
  for (const letter of name) mixed = (Math.imul(mixed, 31) + (letter.codePointAt(0) ?? 0)) | 0;
  const random = seeded(mixed);
  const between = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
  return {
    random,
    between,
    chance: (percent) => random() * 100 < percent,
    pick: (from) => pick(random, from),
  };
}
