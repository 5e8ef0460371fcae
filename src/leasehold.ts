import { Alerts, alerts } from "./alerts.ts";
import type { Leasehold, LeaseholdOptions } from "./client.ts";
import { withAccess } from "./client-access.ts";
import { type ClientParts, handlerParts } from "./client-parts.ts";
import { credits, entries, grantCredits, refund, verifyCredits } from "./credits.ts";
import type { Database } from "./database.ts";
import { openDefaultDatabase } from "./default-database.ts";
import { type Handled, isHandled, type JobDefinition } from "./define.ts";
import { describeError } from "./describe-error.ts";
import { drain } from "./drain.ts";
import { drainBounds } from "./drain-bounds.ts";
import { invalidArgument, leaseholdError } from "./errors.ts";
import { createEvents } from "./events.ts";
import { Housekeeping } from "./housekeeping.ts";
import { settledWithin } from "./in-time.ts";
import type { LeaseholdEvents } from "./job-event.ts";
import { JoinedDrains } from "./joined-drains.ts";
import { consoleLogger, safeLogger } from "./logger.ts";
import { Looks } from "./looks.ts";
import { knownOptions, text } from "./options.ts";
import { enqueue, enqueueMany, enqueueOptionNames } from "./queue.ts";
import { keepBounds, SingleFlight } from "./single-flight.ts";
import { Starter } from "./start.ts";
import { cancel, retry, status } from "./status.ts";
import { Sweeps } from "./sweep.ts";
import { attached, observedDatabase, type Telemetry } from "./telemetry.ts";
import { callerFor } from "./tx.ts";
import { graceMs, workSettings } from "./work-options.ts";
import { startWorker, type Worker } from "./worker.ts";

const optionNames = [
  "database",
  "schema",
  "handlers",
  "logger",
  "keepAlive",
  "grace",
  "onAlert",
  "housekeeping",
  "cache",
  "telemetry",
] as const satisfies readonly (keyof LeaseholdOptions)[];

/** Makes a client. Throws LH002 and LH003 for options that are wrong. */
export function createLeasehold(options: LeaseholdOptions = {}): Leasehold {
  const parts = clientParts(options);
  const { database, events } = parts;
  const workers = new Set<Worker>();
  const flights = new SingleFlight(parts, keepBounds(options.cache));
  const background = {
    keepAlive: optionalFunction("keepAlive", options.keepAlive),
    graceMs: graceMs(options.grace === undefined ? "5s" : options.grace),
  };
  const starter = new Starter(parts, background);
  const looks = new Looks(parts, background);
  const call = (tx: unknown): Database["call"] => callerFor(database, tx);
  /** Housekeeping in the wake of a request, which does not wait for it. */
  const passing = <T>(answer: T): T => {
    parts.housekeeping.nowAndThen();
    parts.alerts.inPassing();
    return answer;
  };

  const client: Leasehold = {
    database,
    async enqueue(job, payload, options = {}) {
      knownOptions("enqueue", options, [...enqueueOptionNames, "tx"]);
      const { tx, ...given } = options;
      const answer = await enqueue(
        parts,
        call(tx),
        job as unknown as JobDefinition,
        payload,
        given,
      );
      return tx === undefined ? passing(answer) : answer;
    },
    async enqueueMany(items, options = {}) {
      knownOptions("enqueueMany", options, ["tx"]);
      const answers = await enqueueMany(parts, call(options.tx), items);
      return options.tx === undefined ? passing(answers) : answers;
    },
    async status(id, given) {
      const state = passing(await status(database, id, given));
      if (state?.money === "checking") looks.inPassing();
      return state;
    },
    cancel: async (id, given) => cancel(database, id, given),
    retry: async (id, given) => retry(database, id, given),
    grantCredits: async (account, amount, reference) =>
      grantCredits(database, account, amount, reference),
    refund: async (jobId, amount, reference) => refund(database, jobId, amount, reference),
    credits: async (account) => credits(database, account),
    entries: async (account, given) => entries(database, account, given),
    verifyCredits: async () => verifyCredits(database),
    alerts: async (given) => alerts(database, given),
    start: async (job, payload, given) =>
      passing(await starter.start(job as unknown as JobDefinition, payload, given)),
    async drain(given = {}) {
      if (parts.kinds.length === 0) throw noHandlers("a drain");
      const bounds = drainBounds(given, parts.kinds);
      const report = await drain(parts, bounds, background.graceMs);
      if (report.reason !== "error") {
        // A hook that hangs must not keep a function past its limit.
        const leftMs = Math.max(bounds.budgetMs - report.durationMs, 1_000);
        await settledWithin(Promise.all([parts.housekeeping.now(), parts.alerts.now()]), leftMs);
      }
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
    singleFlight: async (key, given, load) => flights.run(key, given, load),
    invalidate: async (key, given) => flights.invalidate(key, given),
    sweep: (name, every, run) => parts.sweeps.sweep(name, every, run),
    on: events.on,
    once: events.once,
    off: events.off,
    async close() {
      await Promise.all([
        starter.stop(),
        looks.stop(),
        ...[...workers].map((worker) => worker.stop()),
      ]);
      flights.close();
      // Whatever still asks the database would fail once it is closed.
      await Promise.all([parts.sweeps.close(), parts.alerts.close()]);
      detach();
      await database.close?.();
    },
  };
  const detach = attached(parts, client);
  const drains = new JoinedDrains((given) => client.drain(given), parts.kinds);
  return withAccess(parts, drains, client);
}

function clientParts(options: LeaseholdOptions): ClientParts {
  knownOptions("createLeasehold", options, optionNames);
  const { handlers = [], logger = consoleLogger, housekeeping = true } = options;
  if (typeof housekeeping !== "boolean") {
    throw invalidArgument("housekeeping", housekeeping, "true or false");
  }
  const log = safeLogger(logger);
  const events = createEvents<LeaseholdEvents>((error, name) => {
    log.error({ err: describeError(error), event: name }, "a listener threw");
  });
  const observer = { telemetry: telemetryOf(options), log };
  const database = observedDatabase(databaseOf(options), observer);
  const sweeps = new Sweeps({ database, events, log });
  return {
    ...{ database, events, sweeps, ...observer },
    alerts: new Alerts({ database, events, log }, optionalFunction("onAlert", options.onAlert)),
    housekeeping: new Housekeeping({ database, events, sweeps }, housekeeping),
    ...handlerParts(database, handlersOf(handlers)),
  };
}

function optionalFunction<Given>(name: string, value: Given): Given {
  if (value === undefined || typeof value === "function") return value;
  throw invalidArgument(name, value, "a function");
}

function telemetryOf({ telemetry }: LeaseholdOptions): Telemetry | undefined {
  if (telemetry === undefined || (typeof telemetry === "object" && telemetry !== null))
    return telemetry;
  throw invalidArgument("telemetry", telemetry, "what otel() of leasehold/otel answered");
}

function databaseOf({ database, schema }: LeaseholdOptions): Database {
  if (schema !== undefined) text("schema", schema, { maxBytes: 63 });
  if (database === undefined) return openDefaultDatabase(schema === undefined ? {} : { schema });
  if (typeof database?.call !== "function" || typeof database.schema !== "string") {
    throw invalidArgument(
      "database",
      database,
      "pg(pool), supabase(client), pglite(…) or another Database",
    );
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

/** LH105. */
export function noHandlers(who: string): Error {
  return leaseholdError(
    "LH105",
    `This client has no handlers, so there is nothing that ${who} could run`,
    "Pass `handlers: [handle(definition, fn)]` to createLeasehold.",
  );
}
