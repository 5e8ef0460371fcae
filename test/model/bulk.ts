import { hold } from "./credits.ts";
import { duplicate, enqueue, requeue } from "./entry.ts";
import { isFinished, reap, unfinishedOf } from "./life.ts";
import type { Asked, Job, State } from "./state.ts";

/** The model of what bulk calls do otherwise than one call after the other. */

/**
 * In the order of kind and key: a known name is answered for, else the orphan in the way is reaped, for
 * give-backs come before all holds. The rest in the order of the input.
 */
export function enqueueMany(state: State, jobs: Asked[]) {
  const place = ({ kind, key }: Asked) => `${kind} ${key ?? ""}`;
  const known = new Map<Asked, unknown>();
  for (const job of [...jobs].sort((a, b) =>
    place(a) < place(b) ? -1 : place(a) > place(b) ? 1 : 0,
  )) {
    const answer = duplicate(state, job);
    if (answer === undefined) reap(state, unfinishedOf(state, job.kind, job.key ?? null));
    else known.set(job, answer);
  }
  return jobs.map((job) => known.get(job) ?? enqueue(state, job));
}

/**
 * All keys first, in the order of kind, key and birth, then all holds. What was unfinished when the
 * call looked stays out of it, also an orphan that it reaps on the way.
 */
export function retryMany(state: State, ids: string[]) {
  const skipped = ids.filter((id) => !state.jobs[id]).map((id) => ({ id, outcome: "unknown" }));
  const paying: { job: Job; before: Job }[] = [];
  let retried = 0;
  const unfinished = new Set(inLockOrder(state, ids).filter((job) => !isFinished(job)));
  for (const job of inLockOrder(state, ids)) {
    const before = structuredClone(job);
    const outcome = unfinished.has(job) ? "wrong_status" : requeue(state, job);
    if (outcome === "retried") paying.push({ job, before });
    else skipped.push({ id: job.id, outcome });
  }
  for (const { job, before } of paying) {
    if (hold(state, job)) retried++;
    else {
      Object.assign(job, before);
      skipped.push({ id: job.id, outcome: "insufficient" });
    }
  }
  return { retried, skipped: byId(skipped) };
}

/** Jobs without a key come last. */
export function inLockOrder(state: State, ids: string[]): Job[] {
  const place = ({ kind, key }: Job) => `${kind} ${key === null ? 1 : 0} ${key}`;
  const jobs = Object.values(state.jobs).filter(({ id }) => ids.includes(id));
  return jobs.sort((a, b) => (place(a) < place(b) ? -1 : place(a) > place(b) ? 1 : 0));
}

/** Bulk answers promise no order. */
export const byId = <T extends { id: string }>(list: T[]): T[] =>
  list.sort((a, b) => (a.id < b.id ? -1 : 1));
