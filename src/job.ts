import type { Duration } from "./duration.ts";
import type { Logger } from "./logger.ts";

/** The headers of a trace by name, as W3C's `traceparent` and `tracestate`. */
export type TraceContext = Readonly<Record<string, string>>;

/** What a handler receives. */
export interface Job<Payload = unknown> {
  readonly id: string;
  readonly kind: string;
  readonly key: string | null;
  readonly owner: string | null;
  /** The payload as its schema gives it back. */
  readonly payload: Payload;
  /** Which attempt this is, from 1; a released one did not count. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Which claim this is: grows at each one. Fit for `guard`, and as part of an idempotency key. */
  readonly generation: number;

  /**
   * Aborts when the handler should stop; its `reason` is a JobAbortedError whose `because` says
   * why: lost, cancel, timeout, budget or shutdown. Pass it on to fetch and the like.
   */
  readonly signal: AbortSignal;

  /**
   * The key of this run for a ledger elsewhere, "id:run": the same for each of its attempts, and what a
   * settlement's lookup and refund are asked by. Give it to whatever charges. Rejects when the database
   * can't be asked. Source: the SQL function list.
   */
  idempotencyKey(): Promise<string>;

  /** A logger that names this job in every line. */
  readonly log: Logger;

  /**
   * Renews the lease now. It renews itself while the handler runs; call this before a step that
   * must not be taken by a stale worker (a charge). False: the lease is lost, stop. Rejects when
   * the database can't be asked.
   */
  extend(): Promise<boolean>;

  /** Stores what `status` shows as progress: any JSON up to 1 MB. Renews the lease; false as there. */
  progress(value: unknown): Promise<boolean>;

  /**
   * A durable step: runs `work` once for this job, and stores what it answers. An attempt that
   * follows an interruption is given the stored answer and does not run `work` again: a charge that
   * went through, a file that was written. Where a process dies between the end of `work` and the
   * save, `work` runs again, so give what it calls an idempotency key all the same.
   *
   * `name` says which step it is: 1 to 490 bytes, not blank, not ending in # and digits. Used again
   * in one attempt, it is stored as "name#2", "name#3", … in the order of the calls, so an attempt
   * has to call its steps in the order of the one before. Steps may run side by side.
   *
   * What `work` answers follows the rules of a payload, up to 1 MB; undefined is stored as null. The
   * caller gets the stored form at the first run too (text for a Date). Each save renews the lease.
   * Stored steps stay through failures, releases and retry; a rerun, or a replace that brings
   * another payload, clears them. A `work` that throws stores nothing, and its error passes.
   *
   * Rejects with LH001 when the lease is lost, with LH002 for the name and in or after
   * `job.transaction`, with LH103 or LH004 for an answer that can't be stored, and with the signal's
   * reason when that aborts before `work` starts. A database that is away is asked again until then.
   * Source: the SQL functions step_save, step_load and step_names.
   */
  step<T>(name: string, work: () => Promise<T> | T): Promise<T>;

  /**
   * Runs `work` in one transaction together with the job's completion: the user's writes and the
   * completion commit together or not at all, and a stale worker's never commit (guard). `client`
   * is the driver's own handle. What `work` returns becomes the result; the job is completed when
   * this resolves, whatever the handler does afterwards.
   *
   * Rejects with LH001 when the lease is lost, with LH104 where the database has no transactions,
   * and with what `work` or the commit throws; the job is then not completed.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the handle's type belongs to the user's driver.
  transaction<T>(work: (client: any) => Promise<T> | T): Promise<T>;

  /**
   * Gives the job back unfinished, the attempt not counted: queued again after `after` (default and
   * least 1 second), `code` (default RELEASED) as its error code. Never returns: it throws, and the
   * job is released even where the handler swallows that.
   */
  release(options?: { after?: Duration; code?: string }): never;
}

/** A claimed job as the SQL function answers it. */
export interface ClaimedJob {
  id: string;
  kind: string;
  key: string | null;
  owner: string | null;
  payload: unknown;
  attempts: number;
  max_attempts: number;
  generation: number;
  releases: number;
  budget_releases: number;
  run_after: string;
  lease_until: string;
  timeout_at: string;
  /** Of whoever enqueued it. Absent where the schema is older. */
  trace_context?: TraceContext | null;
}
