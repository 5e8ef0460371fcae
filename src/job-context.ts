import type { Database } from "./database.ts";
import { type Duration, durationMs, maxTimerMs } from "./duration.ts";
import { leaseholdError, leaseLost } from "./errors.ts";
import type { ClaimedJob, Job } from "./job.ts";
import { toJsonValue } from "./json.ts";
import type { Lease } from "./lease.ts";
import type { Logger } from "./logger.ts";
import { knownOptions, text } from "./options.ts";
import { minReleaseMs } from "./outcome.ts";
import { complete, finishAlone } from "./record.ts";
import { Steps } from "./step.ts";
import { TransactionWatch } from "./transaction-watch.ts";

export interface JobContextOptions {
  readonly database: Database;
  readonly claimed: ClaimedJob;
  readonly lease: Lease;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The lease that a step leaves behind. */
  readonly leaseMs: number;
}

/** The handler's side of an attempt, and what it told us beside returning or throwing. */
export interface JobContext {
  job(payload: unknown): Job;
  /** Set once `job.transaction` has completed the job. */
  readonly committed: { resultDropped?: string } | undefined;
  /** What `job.release` asked for. */
  readonly released: { retryAfterMs: number; code: string } | undefined;
}

/** Makes the `job` that a handler receives. */
export function createJobContext(options: JobContextOptions): JobContext {
  const { claimed, lease } = options;
  let committed: JobContext["committed"];
  let released: JobContext["released"];
  let openTransactions = 0;
  const steps = new Steps({ ...options, call: options.database.call.bind(options.database) });

  const methods = {
    idempotencyKey: async () => `${claimed.id}:${await runOf(options)}`,
    extend: () => lease.extend(),
    progress: async (value: unknown) =>
      lease.extend(toJsonValue(value, { what: "progress" }) ?? {}),
    transaction: async <T>(work: (client: never) => Promise<T> | T): Promise<T> => {
      if (committed) throw alreadyCompleted(claimed.id);
      openTransactions += 1;
      try {
        const { value, resultDropped } = await inTransaction(options, work);
        committed = resultDropped === undefined ? {} : { resultDropped };
        return value;
      } finally {
        openTransactions -= 1;
      }
    },
    step: async <T>(name: string, work: () => Promise<T> | T): Promise<T> => {
      if (committed || openTransactions > 0) throw stepTooLate(claimed.id);
      return steps.run(name, work);
    },
    release: (asked: { after?: Duration; code?: string } = {}): never => {
      released = releaseOptions(asked);
      throw new ReleaseRequest();
    },
  };

  return {
    job: (payload) => ({
      id: claimed.id,
      kind: claimed.kind,
      key: claimed.key,
      owner: claimed.owner,
      payload,
      attempt: claimed.attempts,
      maxAttempts: claimed.max_attempts,
      generation: claimed.generation,
      signal: options.signal,
      log: options.log,
      ...methods,
    }),
    get committed() {
      return committed;
    },
    get released() {
      return released;
    },
  };
}

/** What `release` throws to leave the handler. Not an error of the job's. */
class ReleaseRequest extends Error {
  override readonly name = "ReleaseRequest";

  constructor() {
    super("the job is being released; let this pass");
  }
}

function releaseOptions(asked: { after?: Duration; code?: string }) {
  knownOptions("release", asked, ["after", "code"]);
  const { after = minReleaseMs, code = "RELEASED" } = asked;
  return {
    retryAfterMs: Math.max(durationMs("after", after, { max: maxTimerMs }), minReleaseMs),
    code: text("code", code, { maxBytes: 100 }),
  };
}

/**
 * The user's writes and the completion in one transaction, under guard. The lease is not renewed
 * meanwhile: guard holds the job's row, so nobody can take it, and an extend would find it busy (or,
 * on PGlite's one session, wait for this very transaction). A watch sees to it that a connection on
 * which no answer comes any more is given up. After a rollback the lease is renewed at once, which
 * also finds out whether the claim still stands.
 */
async function inTransaction<T>(
  options: JobContextOptions,
  work: (client: never) => Promise<T> | T,
): Promise<{ value: T; resultDropped: string | undefined }> {
  const { database, claimed, lease } = options;
  if (database.transaction === undefined) throw noTransactions();
  const claim = { p_id: claimed.id, p_generation: claimed.generation };
  let watch: TransactionWatch | null | undefined;
  await lease.pause();
  try {
    return await database
      .transaction(async (tx) => {
        watch = TransactionWatch.over(tx, options);
        await tx.call("guard", claim);
        const value = await work(tx.client as never);
        const recorded = await complete(finishAlone(tx.call.bind(tx)), claimed, value);
        if (recorded.status === "lost") throw leaseLost(claimed, "the transaction was rolled back");
        return { value, resultDropped: recorded.resultDropped };
      })
      .finally(() => watch?.stop());
  } catch (error) {
    await lease.resume();
    throw error;
  }
}

/** Which run of the job this is: it does not change while the claim is valid. */
async function runOf({ database, claimed }: JobContextOptions): Promise<number> {
  const { jobs } = (await database.call("list", { p_filter: { ids: [claimed.id] } })) as {
    jobs: readonly { readonly run: number }[];
  };
  const [job] = jobs;
  if (job === undefined) throw leaseLost(claimed, "the job is gone");
  return job.run;
}

function alreadyCompleted(id: string): Error {
  return leaseholdError(
    "LH002",
    `job.transaction was called again after it had completed job ${id}`,
    "Do all writes of the job in one call.",
  );
}

/** The transaction holds the job's row, for which a step's save would wait; and then it is done. */
function stepTooLate(id: string): Error {
  return leaseholdError(
    "LH002",
    `job.step was called in or after job.transaction of job ${id}`,
    "Call job.step before job.transaction, and use what it answered there.",
  );
}

function noTransactions(): Error {
  return leaseholdError(
    "LH104",
    "This database can't hold a transaction open for job.transaction",
    "Use leasehold/pg or leasehold/pglite, or call leasehold.guard and leasehold.complete in an SQL function of your own.",
  );
}
