/** All that is waited for, in milliseconds. The minutes are those of production. */
export interface Timing {
  /** How long a claim is believed that its function does not renew. */
  readonly leaseMs: number;
  /** The wait after the first, second, third and fourth failure. */
  readonly backoffMs: readonly number[];
  /** How long a job rests for which a key was refused (401, 403). */
  readonly restMs: number;
  /** All the time of one drain, below the platform's limit of 300 s. */
  readonly budgetMs: number;
  /** A drain claims nothing with less than this left: what it can't finish wastes an attempt. */
  readonly reserveMs: number;
  /** How long the mail provider and the storage may take to answer. */
  readonly answerMs: number;
}

const second = 1_000;
const minute = 60 * second;

/**
 * The times divided by TIME_SCALE: 1 where it is not set, as in production; with 60 a minute is a
 * second, so that a person can watch an hour go by. Throws where it is no number of 1 to 600.
 */
export function timingOf(scale: string | undefined): Timing {
  const by = Number(scale || 1);
  if (!(by >= 1 && by <= 600)) {
    throw new Error(`TIME_SCALE is ${JSON.stringify(scale)}: give a number from 1 to 600`);
  }
  return {
    leaseMs: (5 * minute) / by,
    backoffMs: [1, 5, 15, 60].map((minutes) => (minutes * minute) / by),
    restMs: (15 * minute) / by,
    budgetMs: (240 * second) / by,
    reserveMs: (30 * second) / by,
    answerMs: minute / by,
  };
}

export const timing: Timing = timingOf(process.env.TIME_SCALE);

/** How every drain of this application is bounded, whoever starts it. */
export const drainOptions = {
  budget: timing.budgetMs,
  reserve: timing.reserveMs,
  maxJobs: 3,
} as const;
