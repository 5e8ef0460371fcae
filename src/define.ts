import type { Verdict } from "./classify.ts";
import { type Duration, durationMs, maxTimerMs } from "./duration.ts";
import { invalidArgument } from "./errors.ts";
import type { Job } from "./job.ts";
import { checkedNotices, type NoticeTexts } from "./notice.ts";
import { integer, knownOptions, text } from "./options.ts";
import { checkedSettlement, type Settlement } from "./settlement.ts";
import { type Input, type Output, type PayloadSchema, requireSchema } from "./standard-schema.ts";

/** The longest delay that the queue keeps: ten years, in milliseconds. */
export const maxDelayMs = 10 * 365 * 86_400_000;

/** What `defineJob` takes. Durations are milliseconds or text such as "5m". */
export interface JobOptions<Schema extends PayloadSchema = PayloadSchema> {
  /** Any Standard Schema (Zod, Valibot, ArkType); checked at enqueue and again at claim. */
  payload?: Schema;
  /** What the job is about: at most one unfinished job per kind and key. */
  key?: (payload: Output<Schema>) => string | null | undefined;
  /** -32768 to 32767, lower first. Default 0. */
  priority?: number;
  /** How often it is tried in all, 1 to 32767. Default 5. */
  maxAttempts?: number;
  /** The wait after each failed attempt, the last one repeated. Default 1, 5, 15, 60 minutes. */
  backoff?: readonly Duration[];
  /** How long a claim lasts when it is not renewed. Default 5 minutes. */
  lease?: Duration;
  /** How long one attempt may take. Default 1 hour; in a drain, what is left of its time. */
  timeout?: Duration;
  /** A job that nobody starts within this fails with NOT_STARTED. Default: it waits for ever. */
  startWithin?: Duration;
  /** How long prune keeps finished jobs of this kind. Default: for ever. */
  retain?: Duration;
  /**
   * How many credits the job costs, 0 to 2^53 - 1: held in the statement that enqueues it, captured in
   * the one that completes it, given back in the one that fails, cancels or reaps it.
   */
  cost?: number | ((payload: Output<Schema>) => number);
  /** Whose credits they are. Default: the owner's. */
  account?: (payload: Output<Schema>) => string | null | undefined;
  /**
   * Where `start` runs it. "process", the default: here and at once, in one attempt unless
   * `maxAttempts` says otherwise. "worker": it waits for a worker or a drain, with all its attempts;
   * nothing else changes.
   */
  startIn?: "process" | "worker";
  /** The ledger elsewhere that the job charges: it decides what a failed job has cost. */
  settlement?: Settlement;
  /** Texts of this job's notices, by language and code, in place of the library's own. */
  notices?: NoticeTexts;
}

/** A kind of job: what `enqueue` and `handle` need to know of it. Holds no handler. */
export interface JobDefinition<Schema extends PayloadSchema = PayloadSchema> {
  readonly kind: string;
  readonly schema: Schema;
  readonly key: ((payload: Output<Schema>) => string | null | undefined) | undefined;
  readonly priority: number | undefined;
  readonly cost: number | ((payload: Output<Schema>) => number) | undefined;
  readonly account: ((payload: Output<Schema>) => string | null | undefined) | undefined;
  readonly startIn: "process" | "worker";
  readonly settlement: Settlement | undefined;
  readonly notices: NoticeTexts | undefined;
  readonly settings: KindSettings;
}

/** The defaults that the database keeps for a kind; undefined where the library's own hold. */
export interface KindSettings {
  readonly maxAttempts: number | undefined;
  readonly backoffMs: readonly number[] | undefined;
  readonly leaseMs: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly startWithinMs: number | undefined;
  readonly retainMs: number | undefined;
}

/** A definition with its handler, as `createLeasehold({ handlers })` takes them. */
export interface Handled {
  readonly definition: JobDefinition;
  readonly run: (job: Job<unknown>) => unknown;
  readonly classify: Classify | undefined;
}

/**
 * A job's own judgement of what its handler threw. Answer a verdict, or undefined to keep the
 * default one, which is given as the second argument.
 */
export type Classify = (thrown: unknown, verdict: Verdict) => Verdict | undefined;

const optionNames = [
  "payload",
  "key",
  "priority",
  "maxAttempts",
  "backoff",
  "lease",
  "timeout",
  "startWithin",
  "retain",
  "cost",
  "account",
  "startIn",
  "settlement",
  "notices",
] as const satisfies readonly (keyof JobOptions)[];

/**
 * Declares a kind of job. It holds no handler, so any module may import it: the browser's types,
 * the route that enqueues, the worker that runs it.
 *
 * Throws LH002 and LH003 for an option that is out of bounds or not known, by name.
 */
export function defineJob<Schema extends PayloadSchema = undefined>(
  kind: string,
  options: JobOptions<Schema> = {},
): JobDefinition<Schema> {
  text("kind", kind, { maxBytes: 100 });
  if (kind.startsWith("leasehold.")) {
    throw invalidArgument("kind", kind, 'a name that does not begin with "leasehold."');
  }
  const where = `defineJob(${JSON.stringify(kind)})`;
  knownOptions(where, options, optionNames);
  if (options.payload !== undefined) requireSchema("payload", options.payload);
  if (options.key !== undefined && typeof options.key !== "function") {
    throw invalidArgument("key", options.key, "a function of the payload that answers the key");
  }
  if (options.account !== undefined && typeof options.account !== "function") {
    throw invalidArgument("account", options.account, "a function of the payload");
  }
  if (options.cost !== undefined && options.settlement !== undefined) {
    throw invalidArgument("cost", options.cost, "either a cost or a settlement, not both");
  }
  return {
    kind,
    schema: options.payload as Schema,
    key: options.key,
    priority: optional(options.priority, (value) => priorityNumber(value)),
    cost: optional(options.cost, (value) =>
      typeof value === "function" ? value : creditsNumber("cost", value),
    ),
    account: options.account,
    startIn: place(options.startIn),
    settlement: optional(options.settlement, checkedSettlement),
    notices: optional(options.notices, checkedNotices),
    settings: settings(options),
  };
}

/** The definition of a kind of the library's own. */
export function ownDefinition(kind: `leasehold.${string}`): JobDefinition<undefined> {
  return { ...defineJob("own"), kind };
}

/** -32768 to 32767. Throws LH002. */
export function priorityNumber(value: unknown): number {
  return integer("priority", value, { min: -32_768, max: 32_767 });
}

/** 1 to 32767. Throws LH002. */
export function maxAttemptsNumber(value: unknown): number {
  return integer("maxAttempts", value, { min: 1, max: 32_767 });
}

/** 0 to 2^53 - 1. Throws LH002. */
export function creditsNumber(name: string, value: unknown, min = 0): number {
  return integer(name, value, { min, max: Number.MAX_SAFE_INTEGER });
}

function place(value: unknown = "process"): "process" | "worker" {
  if (value === "process" || value === "worker") return value;
  throw invalidArgument("startIn", value, '"process" or "worker"');
}

function settings(options: SettingOptions): KindSettings {
  const timer = { min: 1, max: maxTimerMs };
  const delay = { min: 1, max: maxDelayMs };
  return {
    maxAttempts: optional(options.maxAttempts, maxAttemptsNumber),
    backoffMs: optional(options.backoff, backoffList),
    leaseMs: optional(options.lease, (value) => durationMs("lease", value, timer)),
    timeoutMs: optional(options.timeout, (value) => durationMs("timeout", value, timer)),
    startWithinMs: optional(options.startWithin, (value) =>
      durationMs("startWithin", value, delay),
    ),
    retainMs: optional(options.retain, (value) => durationMs("retain", value, delay)),
  };
}

/** The options that the database keeps as a kind's defaults. */
type SettingOptions = Pick<
  JobOptions,
  "maxAttempts" | "backoff" | "lease" | "timeout" | "startWithin" | "retain"
>;

function backoffList(value: unknown): number[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > 100) {
    throw invalidArgument("backoff", value, 'a list of 1 to 100 durations, such as ["1m", "5m"]');
  }
  return value.map((each, i) => durationMs(`backoff[${i}]`, each, { min: 0, max: maxTimerMs }));
}

function optional<T, R>(value: T | undefined, read: (value: T) => R): R | undefined {
  return value === undefined ? undefined : read(value);
}

/**
 * Joins a definition with the function that does the work. What the function returns becomes the
 * job's result; throwing means that the attempt failed (see `classify` for what then happens).
 */
export function handle<Schema extends PayloadSchema>(
  definition: JobDefinition<Schema>,
  run: (job: Job<Output<Schema>>) => unknown,
  options: { classify?: Classify } = {},
): Handled {
  if (!isDefinition(definition)) {
    throw invalidArgument("the job of handle()", definition, "what defineJob answered");
  }
  if (typeof run !== "function") {
    throw invalidArgument(`the handler of ${definition.kind}`, run, "a function of the job");
  }
  knownOptions(`handle(${definition.kind})`, options, ["classify"]);
  if (options.classify !== undefined && typeof options.classify !== "function") {
    throw invalidArgument("classify", options.classify, "a function of what was thrown");
  }
  return {
    definition: definition as unknown as JobDefinition,
    run: run as Handled["run"],
    classify: options.classify,
  };
}

/** Whether a value is what `defineJob` answers; any module's exports may be asked. */
export function isDefinition(value: unknown): value is JobDefinition {
  const { kind, settings: own } = (value ?? {}) as Partial<JobDefinition>;
  return typeof kind === "string" && typeof own === "object" && own !== null;
}

/** Whether a value is what `handle` answers. */
export function isHandled(value: unknown): value is Handled {
  const { definition, run } = (value ?? {}) as Partial<Handled>;
  return isDefinition(definition) && typeof run === "function";
}

export type { Input, Output };
