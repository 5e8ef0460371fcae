import { type ClientParts, handlerParts } from "./client-parts.ts";
import type { Database } from "./database.ts";
import { openDefaultDatabase } from "./default-database.ts";
import { type Handled, isHandled, type JobDefinition } from "./define.ts";
import { describeError } from "./describe-error.ts";
import { type DrainOptions, type DrainReport, drain } from "./drain.ts";
import { drainBounds } from "./drain-bounds.ts";
import { invalidArgument, leaseholdError } from "./errors.ts";
import { createEvents, type Events } from "./events.ts";
import { pruneNowAndThen } from "./housekeeping.ts";
import type { LeaseholdEvents } from "./job-event.ts";
import { consoleLogger, type Logger, safeLogger } from "./logger.ts";
import { knownOptions, text } from "./options.ts";
import {
  type EnqueueAnswer,
  type EnqueueItem,
  type EnqueueOptions,
  enqueue,
  enqueueMany,
  enqueueOptionNames,
} from "./queue.ts";
import type { Input, PayloadSchema } from "./standard-schema.ts";
import { type KeepAlive, type StartAnswer, Starter, type StartOptions } from "./start.ts";
import {
  type CancelAnswer,
  cancel,
  type JobState,
  type OwnerOptions,
  type RetryAnswer,
  retry,
  status,
} from "./status.ts";
import { transactionCaller } from "./tx.ts";
import type { TransactionHandle } from "./tx-handle.ts";
import { type WorkOptions, workSettings } from "./work-options.ts";
import { startWorker, type Worker } from "./worker.ts";

/** What `createLeasehold` takes; all of it is optional. */
export interface LeaseholdOptions {
  /**
   * Where the jobs live: `pg(pool)`, `pglite(…)`. Without it: the PostgreSQL that DATABASE_URL, else
   * POSTGRES_URL names; with neither an embedded PGlite in `.leasehold/`, save in production.
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

  /** A failed or cancelled job back to queued, with all its attempts. */
  retry(id: string, options?: OwnerOptions): Promise<RetryAnswer>;

  /**
   * Answers first and works after: enqueues a job and runs it in this process, when the caller has its
   * answer, under a lease that renews itself; one attempt, unless the definition says otherwise. A
   * definition with `startIn: "worker"` is only enqueued. After SIGTERM a job has 5 s to end; then it
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

  readonly on: Events<LeaseholdEvents>["on"];
  readonly once: Events<LeaseholdEvents>["once"];
  readonly off: Events<LeaseholdEvents>["off"];

  /**
   * Stops the workers of this client, then closes what it opened itself: the default database, or a
   * pool made from a URL.
   */
  close(): Promise<void>;
}

const optionNames = [
  "database",
  "schema",
  "handlers",
  "logger",
  "keepAlive",
] as const satisfies readonly (keyof LeaseholdOptions)[];

/** Makes a client. Throws LH002 and LH003 for options that are wrong. */
export function createLeasehold(options: LeaseholdOptions = {}): Leasehold {
  const parts = clientParts(options);
  const { database, events } = parts;
  const workers = new Set<Worker>();
  const starter = new Starter(parts, options.keepAlive);
  const call = (tx: unknown): Database["call"] =>
    tx === undefined ? database.call.bind(database) : transactionCaller(tx, database.schema);

  return {
    database,
    async enqueue(job, payload, options = {}) {
      knownOptions("enqueue", options, [...enqueueOptionNames, "tx"]);
      const { tx, ...given } = options;
      return enqueue(call(tx), job as unknown as JobDefinition, payload, given);
    },
    async enqueueMany(items, options = {}) {
      knownOptions("enqueueMany", options, ["tx"]);
      return enqueueMany(call(options.tx), items);
    },
    status: async (id, given) => status(database, id, given),
    cancel: async (id, given) => cancel(database, id, given),
    retry: async (id, given) => retry(database, id, given),
    start: async (job, payload, given) =>
      starter.start(job as unknown as JobDefinition, payload, given),
    async drain(given = {}) {
      if (parts.kinds.length === 0) throw noHandlers("a drain");
      const report = await drain(parts, drainBounds(given, parts.kinds));
      if (report.reason !== "error") await pruneNowAndThen(parts);
      events.emit("drained", report);
      return report;
    },
    work(given = {}) {
      if (parts.kinds.length === 0) throw noHandlers("a worker");
      const worker = startWorker(parts, workSettings(given, parts.kinds));
      workers.add(worker);
      const forget = () => workers.delete(worker);
      worker.ended.then(forget, forget);
      return worker;
    },
    on: events.on,
    once: events.once,
    off: events.off,
    async close() {
      await Promise.all([starter.stop(), ...[...workers].map((worker) => worker.stop())]);
      await database.close?.();
    },
  };
}

function clientParts(options: LeaseholdOptions): ClientParts {
  knownOptions("createLeasehold", options, optionNames);
  const { handlers = [], logger = consoleLogger } = options;
  const database = databaseOf(options);
  const log = safeLogger(logger);
  const events = createEvents<LeaseholdEvents>((error, name) => {
    log.error({ err: describeError(error), event: name }, "a listener threw");
  });
  return { database, events, log, ...handlerParts(database, handlersOf(handlers)) };
}

function databaseOf({ database, schema }: LeaseholdOptions): Database {
  if (schema !== undefined) text("schema", schema, { maxBytes: 63 });
  if (database === undefined) return openDefaultDatabase(schema === undefined ? {} : { schema });
  if (typeof database?.call !== "function" || typeof database.schema !== "string") {
    throw invalidArgument("database", database, "pg(pool), pglite(…) or another Database");
  }
  if (schema !== undefined && schema !== database.schema) {
    throw invalidArgument("schema", schema, "it to the database: pg(pool, { schema })");
  }
  return database;
}

function handlersOf(handlers: readonly Handled[]): readonly Handled[] {
  if (!Array.isArray(handlers) || !handlers.every(isHandled)) {
    throw invalidArgument("handlers", handlers, "a list of what handle(definition, fn) answered");
  }
  const kinds = handlers.map((handled) => handled.definition.kind);
  const twice = kinds.find((kind, i) => kinds.indexOf(kind) !== i);
  if (twice !== undefined) throw invalidArgument("handlers", twice, "one handler for each kind");
  return handlers;
}

function noHandlers(who: string): Error {
  return leaseholdError(
    "LH105",
    `This client has no handlers, so there is nothing that ${who} could run`,
    "Pass `handlers: [handle(definition, fn)]` to createLeasehold.",
  );
}
