import type { Arguments, Database } from "./database.ts";
import {
  creditsNumber,
  isDefinition,
  type JobDefinition,
  maxAttemptsNumber,
  maxDelayMs,
  priorityNumber,
} from "./define.ts";
import { type Duration, durationMs } from "./duration.ts";
import { invalidArgument, LeaseholdError, leaseholdError } from "./errors.ts";
import type { TraceContext } from "./job.ts";
import { type JsonObject, type JsonValue, toJsonValue } from "./json.ts";
import { knownOptions, text } from "./options.ts";
import { type Input, type PayloadSchema, validatePayload } from "./standard-schema.ts";
import { type Observer, observedEnqueue } from "./telemetry.ts";
import { isMoment } from "./text-forms.ts";

/** How one enqueue differs from its definition. Durations are milliseconds or text such as "5m". */
export interface EnqueueOptions {
  /** Overrides the definition's key; null: none. */
  key?: string | null;
  /** Who may see the job. */
  owner?: string | null;
  /** -32768 to 32767, lower first. */
  priority?: number;
  /** Not before this moment: a Date, or ISO 8601 with a zone. Not together with `delay`. */
  runAfter?: Date | string;
  /** Not before this much from now, by the database's clock. */
  delay?: Duration;
  startWithin?: Duration;
  maxAttempts?: number;
  /** What to do when an unfinished job holds the key. Default "conflict": answer so, write nothing. */
  onConflict?: "conflict" | "replace" | "rerun";
  /** A name under which this kind and owner enqueue only once, also after the job has finished. */
  once?: string;
  /** How long `once` holds. Default 30 days. */
  onceFor?: Duration;
  /** Overrides the definition's cost; 0: nothing. In credits. */
  cost?: number;
  /** Overrides the definition's account. Where there is a cost and neither, it is the owner's. */
  account?: string;
}

export type JobStatus = "queued" | "running" | "completed" | "failed" | "cancelled";

/**
 * What became of an enqueue. `id` is there only where the job is the caller's: on `conflict` the
 * holder's id is under `holder`, and null there when it belongs to another owner.
 */
export type EnqueueAnswer =
  | { readonly outcome: "created"; readonly id: string; readonly status: "queued" }
  | { readonly outcome: "replaced"; readonly id: string; readonly status: "queued" }
  | { readonly outcome: "rerun"; readonly id: string; readonly status: "running" }
  | { readonly outcome: "duplicate"; readonly id: string; readonly status: JobStatus | null }
  /** The account has not enough credits available: nothing was written. */
  | { readonly outcome: "insufficient" }
  | {
      readonly outcome: "conflict";
      readonly holder: { readonly id: string | null; readonly status: "queued" | "running" };
    };

/** One entry of `enqueueMany`. */
export interface EnqueueItem<Schema extends PayloadSchema = PayloadSchema> extends EnqueueOptions {
  job: JobDefinition<Schema>;
  payload?: Input<Schema>;
}

/** All that one enqueue may be given, save the transaction. */
export const enqueueOptionNames = [
  "key",
  "owner",
  "priority",
  "runAfter",
  "delay",
  "startWithin",
  "maxAttempts",
  "onConflict",
  "once",
  "onceFor",
  "cost",
  "account",
] as const satisfies readonly (keyof EnqueueOptions)[];

/** The arguments of SQL's enqueue for one job: payload checked, options checked and named. */
export async function enqueueArguments(
  definition: JobDefinition,
  payload: unknown,
  options: EnqueueOptions,
): Promise<EnqueueArguments> {
  return argumentsNowOrLater(definition, payload, options);
}

interface EnqueueArguments {
  kind: string;
  payload: JsonValue;
  options: JsonObject;
}

/** Only a schema is waited for: ten thousand promises take longer than all else that is done here. */
function argumentsNowOrLater(
  definition: JobDefinition,
  payload: unknown,
  options: EnqueueOptions,
): EnqueueArguments | Promise<EnqueueArguments> {
  if (!isDefinition(definition)) {
    throw invalidArgument("the job", definition, "what defineJob answered");
  }
  knownOptions("enqueue", options, enqueueOptionNames);
  if (definition.schema === undefined) return checked(definition, payload, payload, options);
  return validatePayload(definition.schema, payload).then((parsed) =>
    checked(definition, payload, parsed, options),
  );
}

function checked(
  definition: JobDefinition,
  payload: unknown,
  parsed: unknown,
  options: EnqueueOptions,
): EnqueueArguments {
  return {
    kind: definition.kind,
    // The input is stored, not what the schema made of it: the handler's side parses it again.
    payload: toJsonValue(payload, { what: "payload" }),
    options: {
      ...sqlOptions(definition, options, options.key ?? keyOf(definition, parsed, options)),
      ...moneyOptions(definition, parsed, options),
    },
  };
}

/** What the job costs and whom; nothing where it is free. */
function moneyOptions(
  { cost: own, account: accountOf, settlement }: JobDefinition,
  parsed: unknown,
  options: EnqueueOptions,
): JsonObject {
  if (settlement !== undefined && options.cost === undefined) return { external: true };
  const cost = options.cost ?? (typeof own === "function" ? own(parsed as never) : own);
  if (cost === undefined || creditsNumber("cost", cost) === 0) return {};
  const account = options.account ?? accountOf?.(parsed as never) ?? options.owner;
  if (account == null) throw noAccount(cost);
  return { cost, account: text("account", account, { maxBytes: 500 }) };
}

function noAccount(cost: number): Error {
  const hint = "Give account, or an owner, whose account it then is.";
  return leaseholdError("LH002", `account is undefined, for a cost of ${cost}`, hint);
}

function keyOf(definition: JobDefinition, parsed: unknown, options: EnqueueOptions) {
  return options.key === null ? undefined : (definition.key?.(parsed as never) ?? undefined);
}

function sqlOptions(
  { priority, settings }: JobDefinition,
  options: EnqueueOptions,
  key: string | undefined,
): JsonObject {
  const named: Record<SqlOption, JsonValue | undefined> = {
    key: key === undefined ? undefined : text("key", key, { maxBytes: 500 }),
    owner: options.owner == null ? undefined : text("owner", options.owner, { maxBytes: 500 }),
    priority: options.priority === undefined ? priority : priorityNumber(options.priority),
    run_after: options.runAfter === undefined ? undefined : isoTime(options.runAfter),
    delay_ms: milliseconds("delay", options.delay, 0),
    start_within_ms: milliseconds("startWithin", options.startWithin, 1) ?? settings.startWithinMs,
    max_attempts:
      options.maxAttempts === undefined
        ? settings.maxAttempts
        : maxAttemptsNumber(options.maxAttempts),
    on_conflict: options.onConflict === undefined ? undefined : conflictRule(options.onConflict),
    once: options.once === undefined ? undefined : text("once", options.once, { maxBytes: 500 }),
    once_for_ms: milliseconds("onceFor", options.onceFor, 1),
  };
  const given: JsonObject = {};
  for (const name of sqlOptionNames) {
    const value = named[name];
    if (value !== undefined) given[name] = value;
  }
  return given;
}

const sqlOptionNames = [
  "key",
  "owner",
  "priority",
  "run_after",
  "delay_ms",
  "start_within_ms",
  "max_attempts",
  "on_conflict",
  "once",
  "once_for_ms",
] as const;
type SqlOption = (typeof sqlOptionNames)[number];

function milliseconds(name: string, value: Duration | undefined, min: number) {
  return value === undefined ? undefined : durationMs(name, value, { min, max: maxDelayMs });
}

function conflictRule(value: unknown): string {
  if (value === "conflict" || value === "replace" || value === "rerun") return value;
  throw invalidArgument("onConflict", value, '"conflict", "replace" or "rerun"');
}

function isoTime(value: unknown): string {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  if (typeof value === "string" && isMoment(value)) return value;
  throw invalidArgument("runAfter", value, 'a Date, or a time such as "2030-01-31T12:00:00Z"');
}

interface SqlAnswer {
  outcome: EnqueueAnswer["outcome"];
  id: string | null;
  status: string | null;
  holder?: unknown;
}

/** SQL's answer without the fields that mean nothing for its outcome. */
function answer({ outcome, id, status, holder }: SqlAnswer): EnqueueAnswer {
  if (outcome === "insufficient") return { outcome };
  return (outcome === "conflict" ? { outcome, holder } : { outcome, id, status }) as EnqueueAnswer;
}

/** Of a job that is created a bulk call answers the id alone. */
function briefly(given: string | SqlAnswer): EnqueueAnswer {
  if (typeof given !== "string") return answer(given);
  return { outcome: "created", id: given, status: "queued" };
}

export async function enqueue(
  observer: Observer,
  call: Database["call"],
  definition: JobDefinition,
  payload: unknown,
  options: EnqueueOptions,
): Promise<EnqueueAnswer> {
  const { kind, ...args } = await enqueueArguments(definition, payload, options);
  const [answered] = await observedEnqueue(observer, [kind], async (trace) => {
    const named: Arguments = {
      p_kind: kind,
      p_payload: args.payload,
      p_options: traced(args.options, trace),
    };
    return [answer((await call("enqueue", named)) as SqlAnswer)];
  });
  return answered as EnqueueAnswer;
}

export async function enqueueMany(
  observer: Observer,
  call: Database["call"],
  items: readonly EnqueueItem[],
): Promise<EnqueueAnswer[]> {
  if (!Array.isArray(items)) throw invalidArgument("items", items, "an array of { job, payload }");
  const given = items.map(itemNowOrLater);
  const jobs = given.some((job) => job instanceof Promise)
    ? await Promise.all(given)
    : (given as JsonObject[]);
  const kinds = jobs.map(({ kind }) => kind as string);
  return observedEnqueue(observer, kinds, async (trace) => {
    const p_jobs = trace === undefined ? jobs : jobs.map((job) => traced(job, trace));
    const answers = await call("enqueue_many", { p_jobs, p_brief: true });
    return (answers as (string | SqlAnswer)[]).map(briefly);
  });
}

function traced(options: JsonObject, trace: TraceContext | undefined): JsonObject {
  return trace === undefined ? options : { ...options, trace_context: trace };
}

/** The arguments of one entry. An error names its place; it rejects where another one's may still come. */
function itemNowOrLater(item: EnqueueItem, index: number): JsonObject | Promise<JsonObject> {
  const named = (error: unknown): never => {
    if (error instanceof LeaseholdError) error.message = `items[${index}]: ${error.message}`;
    throw error;
  };
  try {
    if (typeof item !== "object" || item === null) {
      throw invalidArgument("the item", item, "an object { job, payload }");
    }
    const { job, payload, ...options } = item;
    const args = argumentsNowOrLater(job, payload, options);
    return args instanceof Promise ? args.then(itemOf, named) : itemOf(args);
  } catch (error) {
    return Promise.reject(error).catch(named);
  }
}

function itemOf({ kind, payload, options }: EnqueueArguments): JsonObject {
  return { kind, payload, ...options };
}
