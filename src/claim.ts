import type { Arguments, Database } from "./database.ts";
import { inTime } from "./in-time.ts";
import type { ClaimedJob } from "./job.ts";
import {
  type FinishManyAnswer,
  type OutcomeArguments,
  type StatusOf,
  statusesIn,
} from "./record.ts";

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
  { kinds, worker, limit }: Omit<ClaimManyOptions, "after">,
): Promise<ClaimedJob[]> {
  return (await database.call("claim", {
    p_kinds: kinds,
    p_limit: limit,
    p_worker: worker,
  })) as ClaimedJob[];
}

/** Where the last claim ended in each priority, as claims take it to look only from there on. */
export type Positions = Readonly<
  Record<string, { readonly run_after: string; readonly id: string }>
>;

export interface ClaimManyOptions extends Pick<ClaimOptions, "kinds" | "worker"> {
  readonly limit: number;
  /** Null for a look from the start. */
  readonly after: Positions | null;
}

/** One call that hands over outcomes and claims. */
export interface Exchange {
  readonly statusOf: StatusOf;
  readonly claimed: readonly PlacedJob[];
}

/** A claimed job, with its place in the queue. */
export interface PlacedJob extends ClaimedJob {
  readonly priority: number;
}

type ExchangeRow = PlacedJob & { readonly finished: FinishManyAnswer | null };

/**
 * Up to `limit` due jobs, claimed, the first first, in the call that hands over these outcomes. The
 * leases and timeouts are the kinds' own.
 */
export async function finishAndClaim(
  database: Database,
  outcomes: readonly OutcomeArguments[],
  { kinds, worker, limit, after }: ClaimManyOptions,
): Promise<Exchange> {
  const rows = (await database.call("finish_and_claim", {
    ...outcomeArguments(outcomes),
    p_kinds: kinds,
    p_limit: limit,
    p_worker: worker,
    p_after: after,
  })) as ExchangeRow[];
  const [first, ...claimed] = rows;
  // Every outcome that is not named in it counts as recorded.
  if (first === undefined)
    throw new Error("finish_and_claim answered nothing, not even a first row");
  const finished = first.finished ?? { done: [], refused: [], busy: [] };
  return { statusOf: statusesIn(finished, "completed"), claimed };
}

/** The straight completions go as arrays, which cost a third of the same as JSON. */
function outcomeArguments(outcomes: readonly OutcomeArguments[]): Arguments {
  const p_completed: string[] = [];
  const p_generations: number[] = [];
  const results: unknown[] = [];
  const others: OutcomeArguments[] = [];
  let anyResult = false;
  for (const outcome of outcomes) {
    const { id, generation, action, result, error } = outcome;
    if (action === "complete" && error === undefined) {
      p_completed.push(id);
      p_generations.push(generation);
      results.push(result ?? null);
      anyResult ||= results.at(-1) !== null;
    } else others.push(outcome);
  }
  return {
    p_completed,
    p_generations,
    ...(anyResult && { p_results: results }),
    ...(others.length > 0 && { p_outcomes: others }),
  };
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
