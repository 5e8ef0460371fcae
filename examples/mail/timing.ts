/**
 * The times of the demo beside those of production. Everything that a newcomer would wait for is
 * shortened here and nowhere else, and `shortenedText` says so at the head of every run.
 */
export interface Timing {
  /** How long a claim lasts when its worker does not renew it. In production 5 minutes. */
  readonly leaseMs: number;
  /** The wait after each failed attempt. In production 1, 5, 15 and 60 minutes. */
  readonly backoffMs: readonly number[];
  /** How long a job rests whose API key was refused (401). In production 15 minutes. */
  readonly refusedKeyMs: number;
  /** All the time that one drain has. In production 240 s, under the platform's limit of 300 s. */
  readonly budgetMs: number;
  /** A drain claims nothing with less than this left. In production 30 s. */
  readonly reserveMs: number;
  /** How long the slow message takes: longer than the lease, or it would show nothing. */
  readonly slowMs: number;
  /** How long a worker that found nothing waits before its next drain. */
  readonly pollMs: number;
}

export const defaultLeaseMs = 3_000;

export function shortenedTiming(leaseMs: number): Timing {
  return {
    leaseMs,
    backoffMs: [500, 1_000, 1_500, 2_000],
    refusedKeyMs: 1_000,
    budgetMs: leaseMs * 8,
    // More than the slow message takes: a drain must not begin what it can't finish.
    reserveMs: leaseMs * 2,
    slowMs: leaseMs * 1.5,
    pollMs: 200,
  };
}

/** What is shortened, line by line. */
export function shortenedText(timing: Timing): string[] {
  const { leaseMs, backoffMs, refusedKeyMs, budgetMs, reserveMs } = timing;
  return [
    `leases of ${seconds(leaseMs)} instead of 5 min`,
    `retries after ${backoffMs.map(seconds).join(", ")} instead of 1, 5, 15, 60 min`,
    `a job whose key is refused rests ${seconds(refusedKeyMs)} instead of 15 min`,
    `drains of at most ${seconds(budgetMs)} with a reserve of ${seconds(reserveMs)} instead of 240 s and 30 s`,
  ];
}

export function seconds(ms: number): string {
  return `${Number((ms / 1_000).toFixed(1))} s`;
}
