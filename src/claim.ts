import type { Database } from "./database.ts";
import { inTime } from "./in-time.ts";
import type { ClaimedJob } from "./job.ts";

export interface ClaimOptions {
  readonly kinds: readonly string[];
  readonly worker: string;
  readonly timeoutMs: number;
  /** Jobs not to take again. */
  readonly except: readonly string[];
}

/** Up to `limit` due jobs, claimed, the first first. The lease and the timeout are the kind's own. */
export async function claimMany(
  database: Database,
  { kinds, worker, limit }: Pick<ClaimOptions, "kinds" | "worker"> & { readonly limit: number },
): Promise<ClaimedJob[]> {
  return (await database.call("claim", {
    p_kinds: kinds,
    p_limit: limit,
    p_worker: worker,
  })) as ClaimedJob[];
}

/** The next due job, claimed; undefined when nothing is due. The lease is the kind's own. */
export async function claimOne(
  database: Database,
  { kinds, worker, timeoutMs, except }: ClaimOptions,
): Promise<ClaimedJob | undefined> {
  const rows = (await database.call("claim", {
    p_kinds: kinds,
    p_limit: 1,
    p_worker: worker,
    p_timeout_ms: timeoutMs,
    p_except: except,
  })) as ClaimedJob[];
  return rows[0];
}

/**
 * What a claim brings, unless its answer takes longer than `ms`: then it rejects, and what the claim took
 * all the same goes to `giveBack`.
 */
export function claimedWithin<T>(
  ms: number,
  claiming: Promise<T>,
  giveBack: (late: T) => unknown,
): Promise<T> {
  return inTime(claiming, ms).catch((error: unknown) => {
    void claiming.then(giveBack, () => undefined);
    throw error;
  });
}

/** One named job, claimed; undefined where it is not to be had. The lease is the kind's own. */
export async function claimJob(
  database: Database,
  { id, worker, timeoutMs }: Pick<ClaimOptions, "worker" | "timeoutMs"> & { readonly id: string },
): Promise<ClaimedJob | undefined> {
  const args = { p_id: id, p_worker: worker, p_timeout_ms: timeoutMs };
  return ((await database.call("claim_job", args)) as ClaimedJob[])[0];
}
