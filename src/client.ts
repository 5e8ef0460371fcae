import type { AlertsPage, OnAlert } from "./alerts.ts";
import type { KeepAlive } from "./background.ts";
import type {
  Credits,
  CreditsCheck,
  EntriesPage,
  GrantAnswer,
  PageOptions,
  RefundAnswer,
} from "./credits.ts";
import type { Database } from "./database.ts";
import type { Handled, JobDefinition } from "./define.ts";
import type { DrainOptions, DrainReport } from "./drain.ts";
import type { Duration } from "./duration.ts";
import type { Events } from "./events.ts";
import type { Load } from "./flight.ts";
import type { LeaseholdEvents } from "./job-event.ts";
import type { Logger } from "./logger.ts";
import type { EnqueueAnswer, EnqueueItem, EnqueueOptions } from "./queue.ts";
import type { CacheOptions, InvalidateOptions, SingleFlightOptions } from "./single-flight.ts";
import type { Input, PayloadSchema } from "./standard-schema.ts";
import type { StartAnswer, StartOptions } from "./start.ts";
import type { CancelAnswer, JobState, OwnerOptions, RetryAnswer } from "./status.ts";
import type { Telemetry } from "./telemetry.ts";
import type { TransactionHandle } from "./tx-handle.ts";
import type { WorkOptions } from "./work-options.ts";
import type { Worker } from "./worker.ts";

/** What `createLeasehold` takes; all of it is optional. */
export interface LeaseholdOptions {
  /**
   * Where the jobs live: `pg(pool)`, `supabase(client)`, `pglite(…)`. Without it: the PostgreSQL that
   * DATABASE_URL, else POSTGRES_URL names; with neither an embedded PGlite in `.leasehold/`, save in
   * production.
   */
  database?: Database;
  /** The schema of leasehold's functions in the default database. Default "leasehold". */
  schema?: string;
  /** What `handle` answered, for the kinds that this process runs. */
  handlers?: readonly Handled[];
  /** pino or the like. Default: warnings and errors on the console. */
  logger?: Logger;
  /** How `start` keeps the process alive for its work; leasehold/next brings one. */
  keepAlive?: KeepAlive;
  /**
   * How long jobs that `start` runs may go on after SIGTERM, SIGINT or `close` before their signal
   * aborts, and the job in hand of a drain after SIGTERM before it is given back. Shorter than what the
   * platform leaves before it kills. Default 5 s.
   */
  grace?: Duration;
  /**
   * Told of what a person must look at, such as money that nobody could find the truth about: each
   * alert at least once over all clients that have a hook, while requests, drains or workers of this
   * client go on. What it throws is logged, and the alert is told again.
   */
  onAlert?: OnAlert;
  /**
   * Whether requests, drains and workers of this client start the housekeeping of the whole system in
   * passing: `prune` at most once a minute, `reap` at most every 10 s. Default true; false where a
   * cron calls both.
   */
  housekeeping?: boolean;
  /** How many values of `singleFlight` are kept in memory, at the most. */
  cache?: CacheOptions;
  /** Traces and measures this client: `otel()` of leasehold/otel, or your own. */
  telemetry?: Telemetry;
}

/** Beside the options of one enqueue: the transaction that the job is part of. */
export interface EnqueueCallOptions extends EnqueueOptions {
  /**
   * The user's open transaction: the job is there with its commit, and not with its rollback. Of
   * node-postgres, postgres.js, PGlite, Drizzle, Kysely, Prisma or Knex; LH107 for anything else.
   */
  tx?: TransactionHandle | undefined;
}

/** A client. It opens nothing before its first call, and never ends the process. */
export interface Leasehold {
  readonly database: Database;

  /**
   * Puts a job into the queue, or says by `outcome` who is in its way. Throws LH103 for a payload
   * that its schema refuses or that is no JSON, LH002 and LH003 for options, LH004 over 1 MB.
   */
  enqueue<Schema extends PayloadSchema>(
    job: JobDefinition<Schema>,
    payload?: Input<Schema>,
    options?: EnqueueCallOptions,
  ): Promise<EnqueueAnswer>;

  /** Many jobs in one call, answers in the order of the items; one conflict spoils nothing else. */
  enqueueMany(
    // biome-ignore lint/suspicious/noExplicitAny: each item has its own schema.
    items: readonly EnqueueItem<any>[],
    options?: { tx?: TransactionHandle | undefined },
  ): Promise<EnqueueAnswer[]>;

  /**
   * The job as its owner may see it, reaped first when its lease ran out. Null when it is unknown or
   * another owner's. Without `owner` there is no such check: for trusted code alone.
   */
  status(id: string, options?: OwnerOptions): Promise<JobState | null>;

  /** Cancels a queued job at once; asks a running one to stop. */
  cancel(id: string, options?: OwnerOptions): Promise<CancelAnswer>;

  /** A failed or cancelled job back to queued, with all its attempts and a new hold of its cost. */
  retry(id: string, options?: OwnerOptions): Promise<RetryAnswer>;

  /**
   * Adds `amount` credits (1 to 2^53 - 1) to an account, once per `reference`: a payment's id, say.
   * Throws LH002, also where the reference stands for another amount; LH004. Source: grant_credits.
   */
  grantCredits(account: string, amount: number, reference: string): Promise<GrantAnswer>;

  /**
   * Gives back what a completed job cost, or a part, once per `reference`; never more than it captured.
   * Works after the job was pruned. Throws LH002, also where the reference stands for another amount;
   * LH004. Source: the SQL function refund.
   */
  refund(jobId: string, amount: number, reference: string): Promise<RefundAnswer>;

  /** What an account may spend and what its unfinished jobs hold. Throws LH002, LH004. */
  credits(account: string): Promise<Credits>;

  /** An account's history, the newest first, in pages of 100. Throws LH002, LH003, LH004. */
  entries(account: string, options?: PageOptions): Promise<EntriesPage>;

  /** Whether the books of all accounts balance: for an operator or a test. */
  verifyCredits(): Promise<CreditsCheck>;

  /** What a person must look at, the newest first, in pages of 100. Throws LH002, LH003. */
  alerts(options?: PageOptions): Promise<AlertsPage>;

  /**
   * Answers first and works after: enqueues a job and runs it in this process, when the caller has its
   * answer, under a lease that renews itself; one attempt, unless the definition says otherwise. A
   * definition with `startIn: "worker"` is only enqueued. After SIGTERM a job has `grace` to end; then it
   * fails with SHUTDOWN, and what it held is given back. Throws as enqueue does; LH105 without a
   * handler, LH109 where the work would be cut off (on Vercel without `keepAlive`, or while the
   * process is stopping), and then nothing was written. Source: the SQL functions enqueue, claim_job.
   */
  start<Schema extends PayloadSchema>(
    job: JobDefinition<Schema>,
    payload?: Input<Schema>,
    options?: StartOptions,
  ): Promise<StartAnswer>;

  /** Works through due jobs within a time budget. Throws LH105 without handlers. */
  drain(options?: DrainOptions): Promise<DrainReport>;

  /**
   * Begins to work in this process, for as long as it lives: claims jobs for its free slots, hears of
   * new ones where the database can notify and polls besides, and survives the database's being away.
   * Throws LH105 without handlers, LH002 to LH004 for options; what fails later is told by `ended`,
   * the log and the event `error`.
   */
  work(options?: WorkOptions): Worker;

  /**
   * The value of `load`, called once for all who ask for `key` at the same time and kept for `ttl`.
   * What `load` throws goes to all who wait and is not kept. Its `signal` aborts when all of them have
   * left by theirs. All get the same object: do not change it. With `shared` this holds across
   * processes, for values that are JSON; all get the form in which JSON brings it back. While the
   * database is away, each process loads by itself. A load must not ask for its own key.
   *
   * Rejects with what `load` throws, with the reason of `signal`, with LH002, LH003 and LH004 for
   * arguments, and with `shared` with LH103 and LH004 for a value that can't be stored. Source: the
   * SQL functions cache_begin, cache_put, cache_drop.
   */
  singleFlight<T>(key: string, options: SingleFlightOptions, load: Load<T>): Promise<T>;

  /**
   * Forgets the value of `key`: whoever asks from now on loads anew, and a load that is under way goes
   * to those who wait for it and is not kept. In this process, at once; with `shared` in all, when it
   * resolves. Rejects with LH002 and LH003, and where the database can't be asked.
   */
  invalidate(key: string, options?: InvalidateOptions): Promise<void>;

  /**
   * Housekeeping of your own, started by traffic: calls `run` at most once an interval `every` over
   * all processes, and answers before anything has happened. This process asks the database at most
   * once an interval, too, so it may be called in each request. What fails is logged and told by the
   * event `error`, and tried again an interval later.
   *
   * `name` says what it is, up to 500 bytes; `every` is 1 ms to 24.8 days. Throws LH002 and LH004 for
   * arguments, and for a name that begins with "leasehold.". Source: the SQL function every.
   */
  sweep(name: string, every: Duration, run: () => unknown): void;

  readonly on: Events<LeaseholdEvents>["on"];
  readonly once: Events<LeaseholdEvents>["once"];
  readonly off: Events<LeaseholdEvents>["off"];

  /**
   * Stops the workers of this client, then closes what it opened itself: the default database, or a
   * pool made from a URL, whose connections are cut where a statement or a transaction is still under
   * way after 5 s.
   */
  close(): Promise<void>;
}
