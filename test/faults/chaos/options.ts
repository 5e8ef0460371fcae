import { parseArgs } from "node:util";

export interface ChaosOptions {
  /** What every choice of the run is drawn from. */
  readonly seed: number;
  /** How long faults and actors go on. What comes after, until quiet and checked, is not in it. */
  readonly minutes: number;
}

const usage = "Use: npm run chaos -- --seed 7 --minutes 5";

/** Reads the command line. Throws an error that shows the usage. */
export function chaosOptions(args: readonly string[]): ChaosOptions {
  const { seed, minutes } = given(args);
  return {
    seed: number("--seed", seed ?? Math.floor(Math.random() * 1e9), Number.isSafeInteger),
    minutes: number("--minutes", minutes ?? 2, (value) => value >= 0.1 && value <= 1_440),
  };
}

function given(args: readonly string[]): { seed?: string; minutes?: string } {
  try {
    const options = { seed: { type: "string" }, minutes: { type: "string" } } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${usage}`);
  }
}

function number(name: string, value: string | number, isFit: (value: number) => boolean): number {
  const read = value === "" ? Number.NaN : Number(value);
  if (isFit(read)) return read;
  const accepted = name === "--seed" ? "a whole number" : "minutes from 0.1 to 1440";
  throw new Error(`${name} is ${JSON.stringify(value)}: give ${accepted}.\n${usage}`);
}
