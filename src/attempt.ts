import { type AbortCause, abortCause, JobAbortedError } from "./abort.ts";
import { PermanentError } from "./classify.ts";
import type { Database } from "./database.ts";
import type { Handled } from "./define.ts";
import { causeChain, describeError, read } from "./describe-error.ts";
import type { ClaimedJob } from "./job.ts";
import { JobContext } from "./job-context.ts";
import type { Lease } from "./lease.ts";
import type { LeaseWheel } from "./lease-wheel.ts";
import { childLogger, type Logger } from "./logger.ts";
import { decide, type Ending, type Outcome } from "./outcome.ts";
import { type PayloadSchema, validatePayload } from "./standard-schema.ts";
import { timeouts } from "./timeouts.ts";

/** How long a claim lasts where neither the definition nor the kind says: 5 minutes. */
export const defaultLeaseMs = 5 * 60_000;

/** How long a handler that was told to stop may take before the attempt ends without it. */
export const defaultGraceMs = 1_000;

export interface AttemptOptions {
  readonly database: Database;
  readonly leases: LeaseWheel;
  readonly claimed: ClaimedJob;
  readonly handled: Handled;
  readonly log: Logger;
  /** The attempt's timeout in milliseconds from now. */
  readonly timeoutMs: number;
  /** Milliseconds between a signal that the handler ignores and the end of the attempt. */
  readonly graceMs?: number;
  /** What becomes of it when the process ends first. Default: it is released. */
  readonly onShutdown?: "release" | "fail";
  readonly onError: (error: unknown) => void;
}

/**
 * One run of the handler for a claimed job: checks the payload, renews the lease, tells the handler
 * by its signal when to stop, and decides what is to be recorded.
 *
 * A worker makes one for each job, tens of thousands a second where they are short. So what most
 * handlers never look at, the signal and the logger, is made when it is first read, and no timer or
 * promise is spent on what does not happen.
 */
export class Attempt {
  readonly database: Database;
  readonly claimed: ClaimedJob;
  readonly lease: Lease;
  readonly leaseMs: number;
  readonly #options: AttemptOptions;
  #log: Logger | undefined;
  #controller: AbortController | undefined;
  /** Why the handler was told to stop, for the first time. */
  #stopped: JobAbortedError | undefined;
  #state: "running" | "inGrace" | "over" = "running";
  #graceTimer: ReturnType<typeof setTimeout> | undefined;
  #giveUp: () => void = () => undefined;

  constructor(options: AttemptOptions) {
    const { database, claimed, handled, leases } = options;
    this.database = database;
    this.claimed = claimed;
    this.leaseMs = handled.definition.settings.leaseMs ?? defaultLeaseMs;
    this.#options = options;
    this.lease = leases.keep({
      id: claimed.id,
      generation: claimed.generation,
      leaseMs: this.leaseMs,
      onLost: () => this.abort("lost"),
      onCancel: () => this.abort("cancel"),
      onError: options.onError,
    });
  }

  /** Names the job in every line. */
  get log(): Logger {
    const { id, kind } = this.claimed;
    this.#log ??= childLogger(this.#options.log, { job: id, kind });
    return this.#log;
  }

  /** Aborted, with the reason, also where it is first read after that. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#stopped !== undefined) this.#controller.abort(this.#stopped);
    }
    return this.#controller.signal;
  }

  /** Tells the handler to stop. The signal keeps its first reason. */
  abort(because: AbortCause): void {
    if (this.#stopped === undefined) {
      this.#stopped = new JobAbortedError(because);
      this.#controller?.abort(this.#stopped);
    }
    // A cancelled handler may have work to undo: it has the time that it had.
    if (because === "cancel" || this.#state !== "running") return;
    this.#state = "inGrace";
    this.#graceTimer = setTimeout(() => this.#giveUp(), this.#options.graceMs ?? defaultGraceMs);
  }

  /**
   * Runs the handler, and answers what is to be recorded: null when the lease is lost. Never rejects,
   * whatever the handler throws; ends at the latest a grace after the signal, whatever the handler
   * does. To be called once.
   */
  async run(): Promise<Outcome | null> {
    const { claimed, handled, timeoutMs, onShutdown } = this.#options;
    const timeout = timeouts.add(timeoutMs, () => this.abort("timeout"));
    const context = new JobContext(this);
    try {
      // All jobs of one claim are in hand before the first handler begins: it may stop the worker.
      await undefined;
      const began = this.#begin(context);
      const ended = began instanceof Promise ? await began : began;
      // What the handler said to the context counts, even where it threw or returned something else.
      const ending = context.said ?? ended;
      if (ending.how === "threw" && saysLost(ending.thrown)) {
        await this.lease.extend().catch(() => false); // finds out for itself, and aborts as lost
      }
      const own = { classify: handled.classify, onShutdown, log: () => this.log };
      return decide(claimed, ending, this.#stopped, own);
    } finally {
      this.#state = "over";
      timeouts.delete(timeout);
      clearTimeout(this.#graceTimer);
      await this.lease.stop();
    }
  }

  /** Checks the payload and calls the handler; a promise only where there is something to wait for. */
  #begin(context: JobContext): Ending | Promise<Ending> {
    const { schema } = this.#options.handled.definition;
    const { payload } = this.claimed;
    let result: unknown;
    try {
      result =
        schema === undefined
          ? this.#call(context, payload)
          : checked(schema, payload).then((output) => this.#call(context, output));
    } catch (thrown) {
      return { how: "threw", thrown };
    }
    return isObject(result) ? this.#firstEnding(result) : { how: "returned", result };
  }

  #call(context: JobContext, payload: unknown): unknown {
    // Told to stop before it began, as while the claim was under way: it need not begin.
    if (this.#stopped !== undefined) throw this.#stopped;
    return this.#options.handled.run(context.job(payload));
  }

  /** How the handler ends that answered `result`, a promise as a rule, or that its grace is over. */
  #firstEnding(result: object): Promise<Ending> {
    return new Promise((resolve) => {
      this.#giveUp = () => resolve({ how: "ignored" });
      Promise.resolve(result).then(
        (value: unknown) => resolve({ how: "returned", result: value }),
        (thrown: unknown) => resolve({ how: "threw", thrown }),
      );
    });
  }
}

export interface StoppableOptions extends AttemptOptions {
  /** Other reasons to stop: the end of a drain's budget, the end of the process. */
  readonly stop?: AbortSignal;
}

/** Makes and runs one attempt, which is told to stop when `stop` aborts, for its reason. */
export async function runAttempt(options: StoppableOptions): Promise<Outcome | null> {
  const { stop } = options;
  const attempt = new Attempt(options);
  const onStop = () => attempt.abort((stop && abortCause(stop)) ?? "shutdown");
  if (stop?.aborted) onStop();
  stop?.addEventListener("abort", onStop, { once: true });
  try {
    return await attempt.run();
  } finally {
    stop?.removeEventListener("abort", onStop);
  }
}

/** The payload as its schema gives it back. Rejects for good where it does not fit. */
async function checked(schema: PayloadSchema, payload: unknown): Promise<unknown> {
  try {
    return await validatePayload(schema, payload);
  } catch (cause) {
    // It will be no better at the next attempt.
    throw new PermanentError(describeError(cause).message, { code: "INVALID_PAYLOAD" });
  }
}

/** Whether it may be a promise, or another thing that is to be awaited. */
function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Whether this is LH001, ours or as a driver reports the SQLSTATE of the user's own guard. */
function saysLost(thrown: unknown): boolean {
  return causeChain(thrown).some((error) => read(error, "code") === "LH001");
}
