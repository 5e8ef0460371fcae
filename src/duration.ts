import { invalidArgument } from "./errors.ts";

/**
 * A length of time: a number of milliseconds, or text with a unit such as "250ms", "5s", "1.5m",
 * "2h" or "30d".
 */
export type Duration = number | string;

/** What `durationMs` accepts, both ends included, in milliseconds. */
export interface DurationBounds {
  /** Default 0. */
  readonly min?: number;
  /** Default `maxTimerMs`, about 24.8 days. */
  readonly max?: number;
}

/**
 * The longest time that a timer can wait, in milliseconds. `setTimeout` keeps its delay in 32 bits
 * and fires at once beyond that, which would turn a long pause into a hot loop.
 */
export const maxTimerMs = 2 ** 31 - 1;

const unitsMs = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;

type Unit = keyof typeof unitsMs;

// Fifteen digits hold any duration within JavaScript's exact integers, and keep the BigInts small.
const pattern = /^(\d{1,15})(?:\.(\d{1,15}))?(ms|s|m|h|d)$/;

/**
 * The duration `value` in whole milliseconds.
 *
 * Throws LH002, which names the option and the value, for anything else than a duration that comes
 * to whole milliseconds within the bounds: NaN, Infinity, a negative number, "500" without a unit,
 * "0.5ms".
 */
export function durationMs(name: string, value: unknown, bounds: DurationBounds = {}): number {
  const { min = 0, max = maxTimerMs } = bounds;
  const ms = typeof value === "string" ? parse(value) : value;
  if (typeof ms === "number" && Number.isSafeInteger(ms) && ms >= min && ms <= max) {
    return ms + 0; // -0 becomes 0.
  }
  throw invalidArgument(
    name,
    value,
    `a duration such as "5s", "1.5m" or 250 (milliseconds), ${inWords(min)} to ${inWords(max)}`,
  );
}

/**
 * Exact where floating point is not: "1.005s" is 1005 ms, and "1.0005s" is no whole number of
 * milliseconds (undefined).
 */
function parse(text: string): number | undefined {
  const [, whole, fraction = "", unit] = pattern.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const scaled = BigInt(whole + fraction) * BigInt(unitsMs[unit as Unit]);
  const divisor = 10n ** BigInt(fraction.length);
  return scaled % divisor === 0n ? Number(scaled / divisor) : undefined;
}

/** In the largest unit that fits without a remainder: 90000 is "90s". */
function inWords(ms: number): string {
  const units = Object.keys(unitsMs) as Unit[];
  const unit = units.find((name) => ms !== 0 && ms % unitsMs[name] === 0) ?? "ms";
  return `${ms / unitsMs[unit]}${unit}`;
}
