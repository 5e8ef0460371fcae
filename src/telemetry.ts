import type { Database } from "./database.ts";
import { describeError, type ErrorDescription } from "./describe-error.ts";
import type { Events } from "./events.ts";
import type { FinishedJob } from "./finish.ts";
import type { FunctionName } from "./functions.ts";
import type { ClaimedJob, TraceContext } from "./job.ts";
import { type JobEvent, jobEvent, type LeaseholdEvents } from "./job-event.ts";
import type { Logger } from "./logger.ts";
import type { Outcome } from "./outcome.ts";
import type { EnqueueAnswer } from "./queue.ts";

/**
 * Who traces and measures a client: `telemetry` of createLeasehold takes one, `otel()` of leasehold/otel
 * makes one. Each method is called at once and never waited for; what it throws is logged, and changes
 * nothing of the work.
 */
export interface Telemetry {
  /** Called once, as the client is made; what it answers is called as the client closes. */
  attach?(client: TelemetryClient): (() => void) | undefined;
  /**
   * Around one call that enqueues jobs of these kinds, in their order. Calls `send`, before it returns,
   * with the trace context to store with each of them: texts, at most 8 kB together, or none.
   */
  enqueue?(kinds: readonly string[], send: Send): void;
  /** Around one attempt: calls `run` before it returns, in the context in which the handler is to run. */
  attempt?(attempt: AttemptStart, run: () => Promise<AttemptEnd>): void;
  /** After each call that claims jobs or hands over what became of them. */
  called?(call: DatabaseCall): void;
}

export interface TelemetryClient {
  readonly database: Database;
  readonly on: Events<LeaseholdEvents>["on"];
}

/** Enqueues; resolves with the answers in the order of the jobs. */
export type Send = (trace?: TraceContext) => Promise<EnqueueAnswer[]>;

/** An attempt whose handler is about to run. */
export interface AttemptStart extends JobEvent {
  /** From when on the job was due; ISO 8601 in UTC. */
  readonly runAfter: string;
  /** Of whoever enqueued it; null where none was stored. */
  readonly traceContext: TraceContext | null;
}

/** An attempt whose outcome was recorded, or refused. */
export interface AttemptEnd {
  readonly finished: FinishedJob;
  /** What the handler threw, where the attempt failed. */
  readonly error?: ErrorDescription;
}

export interface DatabaseCall {
  readonly name: FunctionName;
  readonly durationMs: number;
  /** What it rejected with; absent where it was answered. */
  readonly error?: unknown;
}

/** A client's telemetry, and where its faults are told. */
export interface Observer {
  readonly telemetry: Telemetry | undefined;
  readonly log: Logger;
}

const maxContextBytes = 8_192;

/** What `send` answers, with the telemetry around it. */
export async function observedEnqueue(
  { telemetry, log }: Observer,
  kinds: readonly string[],
  send: Send,
): Promise<EnqueueAnswer[]> {
  if (telemetry?.enqueue === undefined) return send();
  return around(
    log,
    (once) => telemetry.enqueue?.(kinds, once),
    (trace?: TraceContext) => send(storable(trace)),
  );
}

/**
 * Runs and finishes an attempt, with the telemetry around it. Rejects only as `run` does. Without one it
 * spends no promise: a worker asks for each job.
 */
export function observedAttempt(
  { telemetry, log }: Observer,
  claimed: ClaimedJob,
  run: () => Promise<{ readonly finished: FinishedJob; readonly outcome: Outcome | null }>,
): Promise<Pick<AttemptEnd, "finished">> {
  if (telemetry?.attempt === undefined) return run();
  const start: AttemptStart = {
    ...jobEvent(claimed),
    runAfter: claimed.run_after,
    traceContext: claimed.trace_context ?? null,
  };
  return around(
    log,
    (once) => telemetry.attempt?.(start, once),
    async (): Promise<AttemptEnd> => {
      const { finished, outcome } = await run();
      return outcome?.action === "fail" ? { finished, error: outcome.error } : { finished };
    },
  );
}

/** The database whose calls that claim and finish are told. */
export function observedDatabase(database: Database, { telemetry, log }: Observer): Database {
  if (telemetry?.called === undefined) return database;
  const tell = (call: DatabaseCall) => safely(log, () => telemetry.called?.(call));
  return {
    schema: database.schema,
    async call(name, args) {
      if (!told.has(name)) return database.call(name, args);
      const began = performance.now();
      const durationMs = () => performance.now() - began;
      try {
        const answer = await database.call(name, args);
        tell({ name, durationMs: durationMs() });
        return answer;
      } catch (error) {
        tell({ name, durationMs: durationMs(), error });
        throw error;
      }
    },
    ...bound(database),
  };
}

const told: ReadonlySet<FunctionName> = new Set([
  "claim",
  "claim_job",
  "finish_and_claim",
  "finish_many",
  "complete",
  "fail",
  "release",
]);

/** The optional methods that a database has. */
function bound(database: Database): Partial<Database> {
  const names = ["transaction", "script", "listen", "close"] as const;
  const methods = names.flatMap((name) => {
    const method = database[name] as ((...given: never[]) => unknown) | undefined;
    return method === undefined ? [] : [[name, method.bind(database)] as const];
  });
  return Object.fromEntries(methods);
}

/** Attaches the telemetry; answers how to detach it. */
export function attached({ telemetry, log }: Observer, client: TelemetryClient): () => void {
  const detach = safely(log, () => telemetry?.attach?.(client));
  return () => void safely(log, () => detach?.());
}

/** What `work` answers, called by `observe` or, where that fails to, all the same; and once. */
function around<T, Given extends unknown[]>(
  log: Logger,
  observe: (once: (...given: Given) => Promise<T>) => void,
  work: (...given: Given | []) => Promise<T>,
): Promise<T> {
  let done: Promise<T> | undefined;
  safely(log, () =>
    observe((...given) => {
      done ??= work(...given);
      return done;
    }),
  );
  return done ?? work();
}

function safely<T>(log: Logger, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    log.error({ err: describeError(error) }, "the telemetry threw");
    return undefined;
  }
}

/** The context as it is stored; none where it could not be: a job goes before its trace. */
function storable(trace: TraceContext | undefined): TraceContext | undefined {
  if (typeof trace !== "object" || trace === null) return undefined;
  const texts = Object.entries(trace).filter(([, value]) => typeof value === "string");
  if (texts.length === 0) return undefined;
  const context = Object.fromEntries(texts);
  const text = JSON.stringify(context);
  // jsonb writes a space behind each colon and comma.
  const bytes = new TextEncoder().encode(text).length + 2 * texts.length;
  return bytes <= maxContextBytes && !text.includes("\\u0000") ? context : undefined;
}
