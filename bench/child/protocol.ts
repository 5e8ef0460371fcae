import type { ConsumerOptions } from "../contenders/contender.ts";
import type { Plan } from "./plan.ts";
import type { Runs } from "./tally.ts";

/** What a child can be asked. Each name is a call with one argument and one answer. */
export interface Calls {
  prepare(given: { url: string; kinds: readonly string[] }): void;
  unfinished(given: { url: string }): number;
  prune(given: { url: string; olderThanMs: number }): number;

  openProducer(given: { url: string; connections: number }): void;
  /** Calls of `perCall` jobs, as many at a time as there are connections. */
  fill(given: { plan: Plan; perCall: number }): Span;
  /** Calls of one job, by so many clients at a time. */
  trickle(given: { plan: Plan; clients: number }): Span;
  /** Calls of one job at given moments, whether those before are answered or not. */
  pace(given: { plan: Plan; atMs: readonly number[] }): Paced;

  openConsumer(given: ConsumerGiven): void;
  /** Answers when a job is in hand. */
  firstJob(given: { withinMs: number }): boolean;
  /** Lets the handlers go on that `held` held back. */
  go(given: object): { inHand: number };
  /** Stops the consumer and answers when, and what it has used since it went. */
  stop(given: object): Used;
  runs(given: object): Runs;
}

export type CallName = keyof Calls;
export type Given<Name extends CallName> = Parameters<Calls[Name]>[0];
export type Value<Name extends CallName> = ReturnType<Calls[Name]>;

export interface ConsumerGiven {
  readonly url: string;
  readonly kinds: readonly string[];
  readonly best: ConsumerOptions["best"];
  /** How long each handler takes; 0: it answers at once. */
  readonly handlerMs: number;
  /** Whether the handlers wait for `go`. */
  readonly held: boolean;
  /** Whether the moment of each job's start is kept, for `runs`. */
  readonly times: boolean;
}

/** By the machine's monotonic clock, which all processes share; in milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** For each job in the order of the plan. */
export interface Paced {
  /** When its call began. */
  readonly calledMs: readonly number[];
  /** When its call was answered. */
  readonly answeredMs: readonly number[];
}

export interface Used {
  /** When the consumer's `stop` resolved. */
  readonly stoppedMs: number;
  /** Of its process since `go`, in user and system mode. */
  readonly cpuSeconds: number;
  /** The most resident memory that was seen. */
  readonly peakMb: number;
}

/** From parent to child. The first message is `load`. */
export type ToChild =
  | { readonly load: string }
  | { readonly id: number; readonly call: CallName; readonly given: unknown };

/** From child to parent. */
export type ToParent =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string }
  /** How many jobs its consumer has begun so far, and its resident memory. */
  | { readonly ran: number; readonly atMs: number; readonly mb: number };
