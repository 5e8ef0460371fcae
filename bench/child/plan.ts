import type { NewJob } from "../contenders/contender.ts";

/** Jobs to enqueue, without a list of them: numbered on, kinds and priorities in turn. */
export interface Plan {
  readonly from: number;
  readonly count: number;
  readonly kinds: readonly string[];
  readonly delayMs?: number;
  /** So many priorities, from 0 up; without it none is given. */
  readonly priorities?: number;
}

/** The job of that number. */
export function jobOf(plan: Plan, n: number): NewJob {
  const { kinds, delayMs, priorities } = plan;
  return {
    kind: kinds[n % kinds.length] as string,
    n,
    ...(delayMs !== undefined && { delayMs }),
    ...(priorities !== undefined && { priority: n % priorities }),
  };
}

/** All jobs of a plan in calls of at most `perCall`. */
export function* callsOf(plan: Plan, perCall: number): Generator<NewJob[]> {
  const end = plan.from + plan.count;
  for (let from = plan.from; from < end; from += perCall) {
    const length = Math.min(perCall, end - from);
    yield Array.from({ length }, (_, i) => jobOf(plan, from + i));
  }
}
