import { handledKinds, processName } from "./claimant.ts";
import { type Duration, durationMs } from "./duration.ts";
import { invalidArgument } from "./errors.ts";
import { integer, knownOptions, text } from "./options.ts";

/** How a drain is bounded. Durations are milliseconds or text such as "240s". */
export interface DrainOptions {
  /** All the time that it has, from its call to its return. Default 240 s. */
  budget?: Duration;
  /** It claims nothing with less than this left of the budget. Default 30 s. */
  reserve?: Duration;
  /**
   * Where nothing is due, it goes on looking, four times a second, until so long after its call: for
   * jobs that come in a burst. It ends with the budget all the same. Default 0.
   */
  linger?: Duration;
  /** At most so many jobs, one after the other, 1 to 10,000. Default 3. */
  maxJobs?: number;
  /** Only these of the registered kinds. */
  kinds?: readonly string[];
  /** A name for diagnosis. Default: the process id and a random part. */
  worker?: string;
  /** Aborting it stops the claiming at once and tells the handler to give its job back. */
  signal?: AbortSignal;
}

/** The most that `maxJobs` may be. */
export const maxMaxJobs = 10_000;

/** The same, checked and complete. */
export interface Bounds {
  readonly budgetMs: number;
  readonly reserveMs: number;
  readonly lingerMs: number;
  readonly maxJobs: number;
  readonly kinds: readonly string[];
  readonly worker: string;
  readonly signal: AbortSignal | undefined;
}

const optionNames = [
  "budget",
  "reserve",
  "linger",
  "maxJobs",
  "kinds",
  "worker",
  "signal",
] as const satisfies readonly (keyof DrainOptions)[];

/**
 * Checks the options of a drain and fills in its defaults; a budget under a minute has half of it
 * as its default reserve. Throws LH002, LH003, LH004.
 */
export function drainBounds(options: DrainOptions, registered: readonly string[]): Bounds {
  knownOptions("drain", options, optionNames);
  const {
    budget = "240s",
    linger = 0,
    maxJobs = 3,
    kinds = registered,
    worker = processName("drain"),
  } = options;
  const budgetMs = durationMs("budget", budget, { min: 1 });
  const { reserve = Math.min(30_000, Math.floor(budgetMs / 2)), signal } = options;
  const reserveMs = durationMs("reserve", reserve);
  if (reserveMs >= budgetMs) {
    throw invalidArgument("reserve", reserve, `less than the budget of ${budgetMs} ms`);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalidArgument("signal", signal, "an AbortSignal");
  }
  return {
    budgetMs,
    reserveMs,
    lingerMs: durationMs("linger", linger),
    maxJobs: integer("maxJobs", maxJobs, { min: 1, max: maxMaxJobs }),
    kinds: handledKinds(kinds, registered),
    worker: text("worker", worker, { maxBytes: 500 }),
    signal,
  };
}
