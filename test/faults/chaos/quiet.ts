import { setTimeout as pause } from "node:timers/promises";
import type { Post } from "./crew.ts";
import type { Scene } from "./scene.ts";

/** So long may nothing end before we give up: many times the longest lease, timeout and backoff. */
const patienceMs = 60_000;

/**
 * Waits until every job is over. What rests longer than the run has time for, a look at the provider
 * after a failed one, an operator makes due. Answers false where nothing ended for a minute; which jobs
 * are left then, the checks tell.
 */
export async function quiet({ direct }: Scene): Promise<boolean> {
  await direct.query(
    "select leasehold.resume(kind) from leasehold.kinds where paused_at is not null",
  );
  let least = Number.POSITIVE_INFINITY;
  let since = performance.now();
  for (;;) {
    const left = await unfinished(direct);
    if (left === 0) return true;
    if (left < least) {
      least = left;
      since = performance.now();
    }
    if (performance.now() - since > patienceMs) return false;
    await hurryLooks(direct);
    await pause(500);
  }
}

async function unfinished(direct: Scene["direct"]): Promise<number> {
  const text = "select count(*)::int as jobs from leasehold.jobs where finished_at is null";
  return (await direct.query(text)).rows[0].jobs;
}

/** But not those that wait for the end of a timeout, before which the provider's "none" says nothing. */
async function hurryLooks(direct: Scene["direct"]): Promise<void> {
  await direct.query(`
    select leasehold.run_now(id) from leasehold.jobs
    where kind = 'leasehold.reconcile' and status = 'queued'
      and last_error_code is distinct from 'LEDGER_OPEN'
      and run_after > clock_timestamp() + interval '3 seconds'`);
}

/** So long may a worker take to begin, or to let go of its last job. */
const slotsWithinMs = 120_000;

/** Waits until no worker has a job in hand, and answers who still has one, or does not answer. */
export async function busyWorkers({ crew }: Scene): Promise<string[]> {
  const until = performance.now() + slotsWithinMs;
  for (;;) {
    const busy = (await Promise.all(crew.workers.map(heldBy))).filter((one) => one !== undefined);
    if (busy.length === 0 || performance.now() > until) return busy;
    await pause(500);
  }
}

/** What speaks against a worker's being free; undefined where it is. */
async function heldBy({ place, member }: Post): Promise<string | undefined> {
  const health = await member.health();
  const isFree = health?.state === "working" && health.ready && health.running === 0;
  return isFree ? undefined : `${place.name} (${place.driver}): ${JSON.stringify(health)}`;
}
