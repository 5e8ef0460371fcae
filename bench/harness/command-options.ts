import { parseArgs } from "node:util";

/** What the command line asks for. */
export interface CommandOptions {
  readonly rivals: boolean;
  readonly only: string | undefined;
  readonly with: string | undefined;
  readonly rounds: number;
  /** The own figures within minutes: nothing was said that makes them longer. */
  readonly quick: boolean;
  readonly long: boolean;
  readonly limitMs: number;
  readonly fillLimitMs: number;
  readonly minutes: number;
  readonly scale: number;
  readonly out: string | undefined;
  readonly name: string | undefined;
}

export const help = `Options, after --:
  --only drain,enqueue    these benchmarks alone
  --with leasehold,…      these contenders alone
  --rounds 5              rounds of each figure; own figures: 3, and one of what is not enqueue or drain
  --long                  the long runs as well: the xmin horizon, the sustained load
  --limit 90              seconds after which a drain is ended
  --fill-limit 180        seconds after which a contender is left out that is being filled
  --minutes 15            of sustained load
  --scale 1               multiplies all counts; less than 1 is a trial, which writes no file
  --out folder            where the results are written; default bench/results
  --name text             in the names of their files`;

/** Throws for what is not known and for numbers that are none. */
export function commandOptions(args: readonly string[]): CommandOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rivals: { type: "boolean", default: false },
      only: { type: "string" },
      with: { type: "string" },
      rounds: { type: "string" },
      long: { type: "boolean", default: false },
      limit: { type: "string", default: "90" },
      "fill-limit": { type: "string", default: "180" },
      minutes: { type: "string", default: "15" },
      scale: { type: "string", default: "1" },
      out: { type: "string" },
      name: { type: "string" },
    },
  });
  const rounds = values.rounds ?? (values.rivals ? "5" : "3");
  return {
    rivals: values.rivals,
    only: values.only,
    with: values.with,
    rounds: number("rounds", rounds, { min: 1, max: 100, whole: true }),
    quick: !values.rivals && !values.long && values.rounds === undefined,
    long: values.long,
    limitMs: number("limit", values.limit, { min: 1, max: 3_600 }) * 1_000,
    fillLimitMs: number("fill-limit", values["fill-limit"], { min: 1, max: 3_600 }) * 1_000,
    minutes: number("minutes", values.minutes, { min: 0.1, max: 1_440 }),
    scale: number("scale", values.scale, { min: 0.0001, max: 10 }),
    out: values.out,
    name: values.name,
  };
}

function number(
  name: string,
  text: string,
  { min, max, whole = false }: { min: number; max: number; whole?: boolean },
): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= min && value <= max && (!whole || Number.isInteger(value))) {
    return value;
  }
  const kind = whole ? "a whole number" : "a number";
  throw new Error(`--${name} is ${text}: give ${kind} from ${min} to ${max}.`);
}
