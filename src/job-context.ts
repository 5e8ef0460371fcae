import type { Database } from "./database.ts";
import { type Duration, durationMs, maxTimerMs } from "./duration.ts";
import { leaseholdError, leaseLost } from "./errors.ts";
import type { ClaimedJob, Job } from "./job.ts";
import { toJsonValue } from "./json.ts";
import type { Lease } from "./lease.ts";
import type { Logger } from "./logger.ts";
import { knownOptions, text } from "./options.ts";
import { type Ending, minReleaseMs } from "./outcome.ts";
import { complete, finishAlone } from "./record.ts";
import { Steps } from "./step.ts";
import { TransactionWatch } from "./transaction-watch.ts";

/** The attempt whose handler it is. */
export interface JobContextOptions {
  readonly database: Database;
  readonly claimed: ClaimedJob;
  readonly lease: Lease;
  /** Made when it is first read, as `signal` is. */
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The lease that a step leaves behind. */
  readonly leaseMs: number;
}

/** The handler's side of an attempt, and what it told us beside returning or throwing. */
export class JobContext {
  readonly attempt: JobContextOptions;
  #committed: Extract<Ending, { how: "committed" }> | undefined;
  #released: Extract<Ending, { how: "released" }> | undefined;
  #openTransactions = 0;
  #steps: Steps | undefined;

  constructor(attempt: JobContextOptions) {
    this.attempt = attempt;
  }

  /** What `job.transaction` has done, or else what `job.release` asked for. */
  get said(): Ending | undefined {
    return this.#committed ?? this.#released;
  }

  /** The `job` that the handler receives. */
  job(payload: unknown): Job {
    return new HandlersJob(this, payload);
  }

  async idempotencyKey(): Promise<string> {
    return `${this.attempt.claimed.id}:${await runOf(this.attempt)}`;
  }

  async progress(value: unknown): Promise<boolean> {
    return this.attempt.lease.extend(toJsonValue(value, { what: "progress" }) ?? {});
  }

  async step<T>(name: string, work: () => Promise<T> | T): Promise<T> {
    const { database, claimed } = this.attempt;
    if (this.#committed || this.#openTransactions > 0) throw stepTooLate(claimed.id);
    this.#steps ??= new Steps(this.attempt, database.call.bind(database));
    return this.#steps.run(name, work);
  }

  async transaction<T>(work: (client: never) => Promise<T> | T): Promise<T> {
    if (this.#committed) throw alreadyCompleted(this.attempt.claimed.id);
    this.#openTransactions += 1;
    try {
      const { value, resultDropped } = await inTransaction(this.attempt, work);
      this.#committed = { how: "committed", ...(resultDropped !== undefined && { resultDropped }) };
      return value;
    } finally {
      this.#openTransactions -= 1;
    }
  }

  release(asked: { after?: Duration; code?: string } = {}): never {
    this.#released = { how: "released", ...releaseOptions(asked) };
    throw new ReleaseRequest();
  }
}

/**
 * What a handler receives. Its methods are its own and bound, so that a handler may take them out:
 * `({ payload, step }) => …`.
 */
class HandlersJob implements Job {
  readonly #context: JobContext;
  readonly id: string;
  readonly kind: string;
  readonly key: string | null;
  readonly owner: string | null;
  readonly payload: unknown;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly generation: number;
  declare readonly signal: AbortSignal;
  declare readonly log: Logger;

  // Read by way of the attempt, which makes them then. Own properties all the same, or `{ ...job }`
  // would be without them; and the same two for all jobs, or V8 would give each job a shape of its own.
  static readonly #signal: PropertyDescriptor & ThisType<HandlersJob> = {
    enumerable: true,
    configurable: true,
    get() {
      return this.#context.attempt.signal;
    },
  };
  static readonly #log: PropertyDescriptor & ThisType<HandlersJob> = {
    enumerable: true,
    configurable: true,
    get() {
      return this.#context.attempt.log;
    },
  };

  constructor(context: JobContext, payload: unknown) {
    const { claimed } = context.attempt;
    this.#context = context;
    this.id = claimed.id;
    this.kind = claimed.kind;
    this.key = claimed.key;
    this.owner = claimed.owner;
    this.payload = payload;
    this.attempt = claimed.attempts;
    this.maxAttempts = claimed.max_attempts;
    this.generation = claimed.generation;
    Object.defineProperty(this, "signal", HandlersJob.#signal);
    Object.defineProperty(this, "log", HandlersJob.#log);
  }

  readonly idempotencyKey: Job["idempotencyKey"] = () => this.#context.idempotencyKey();
  readonly extend: Job["extend"] = () => this.#context.attempt.lease.extend();
  readonly progress: Job["progress"] = (value) => this.#context.progress(value);
  readonly step: Job["step"] = (name, work) => this.#context.step(name, work);
  readonly transaction: Job["transaction"] = (work) => this.#context.transaction(work);
  readonly release: Job["release"] = (asked) => this.#context.release(asked);
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
        await watch?.beforeCommit();
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
