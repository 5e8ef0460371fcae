import { type AbortCause, JobAbortedError } from "./abort.ts";
import { PermanentError } from "./classify.ts";
import type { Database } from "./database.ts";
import type { Handled } from "./define.ts";
import { causeChain, describeError, read } from "./describe-error.ts";
import type { ClaimedJob } from "./job.ts";
import { createJobContext, type JobContext } from "./job-context.ts";
import type { Lease } from "./lease.ts";
import type { LeaseWheel } from "./lease-wheel.ts";
import { childLogger, type Logger } from "./logger.ts";
import { decide, type Ending, type Outcome } from "./outcome.ts";
import { validatePayload } from "./standard-schema.ts";

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
  /** Other reasons to stop: the end of a drain's budget, the end of the process. */
  readonly stop?: AbortSignal;
  /** What becomes of it when the process ends first. Default: it is released. */
  readonly onShutdown?: "release" | "fail";
  readonly onError: (error: unknown) => void;
}

/**
 * Runs the handler for one claimed job: checks the payload, renews the lease, tells the handler by
 * its signal when to stop, and decides what is to be recorded: null when the lease is lost. Never
 * rejects, whatever the handler throws; ends at the latest a grace after the signal, whatever the
 * handler does.
 */
export async function runAttempt(options: AttemptOptions): Promise<Outcome | null> {
  const { claimed, handled } = options;
  const log = childLogger(options.log, { job: claimed.id, kind: claimed.kind });
  const controller = new AbortController();
  const deadline = new AbortController();
  const abort = (because: AbortCause) => {
    if (!controller.signal.aborted) controller.abort(new JobAbortedError(because));
    // A cancelled handler may have work to undo: it has the time that it had.
    if (because !== "cancel") deadline.abort();
  };
  const leaseMs = handled.definition.settings.leaseMs ?? defaultLeaseMs;
  const lease = options.leases.keep({
    id: claimed.id,
    generation: claimed.generation,
    leaseMs,
    onLost: () => abort("lost"),
    onCancel: () => abort("cancel"),
    onError: options.onError,
  });
  const stopWatching = watch(options, abort);
  const context = createJobContext({ ...options, log, lease, leaseMs, signal: controller.signal });
  try {
    const running = run(options, context, controller.signal);
    const over = pastGrace(deadline.signal, options.graceMs, running);
    const ending = await endingOf(context, lease, await Promise.race([running, over]));
    const own = { classify: handled.classify, log, onShutdown: options.onShutdown };
    return decide(claimed, ending, controller.signal, own);
  } finally {
    stopWatching();
    await lease.stop();
  }
}

/** Aborts at the timeout, and when the caller's signal does, for its reason. */
function watch(
  { timeoutMs, stop }: AttemptOptions,
  abort: (because: AbortCause) => void,
): () => void {
  const timer = setTimeout(() => abort("timeout"), timeoutMs);
  const onStop = () => {
    abort(stop?.reason instanceof JobAbortedError ? stop.reason.because : "shutdown");
  };
  if (stop?.aborted) onStop();
  stop?.addEventListener("abort", onStop, { once: true });
  return () => {
    clearTimeout(timer);
    stop?.removeEventListener("abort", onStop);
  };
}

/** Checks the payload and runs the handler; never rejects. */
async function run(
  { handled, claimed }: AttemptOptions,
  context: JobContext,
  signal: AbortSignal,
): Promise<Ending> {
  let payload: unknown;
  try {
    payload = await validatePayload(handled.definition.schema, claimed.payload);
  } catch (cause) {
    // It will be no better at the next attempt.
    const { message } = describeError(cause);
    return { how: "threw", thrown: new PermanentError(message, { code: "INVALID_PAYLOAD" }) };
  }
  // Told to stop before it began, as while the claim was under way: it need not begin.
  if (signal.aborted) return { how: "threw", thrown: signal.reason };
  try {
    return { how: "returned", result: await handled.run(context.job(payload)) };
  } catch (thrown) {
    return { how: "threw", thrown };
  }
}

/** What the handler said to the context counts, even where it threw or returned something else. */
async function endingOf(context: JobContext, lease: Lease, ending: Ending): Promise<Ending> {
  if (context.committed) return { how: "committed", ...context.committed };
  if (context.released) return { how: "released", ...context.released };
  if (ending.how === "threw" && saysLost(ending.thrown)) {
    await lease.extend().catch(() => false); // finds out for itself, and aborts as lost
  }
  return ending;
}

/** Whether this is LH001, ours or as a driver reports the SQLSTATE of the user's own guard. */
function saysLost(thrown: unknown): boolean {
  return causeChain(thrown).some((error) => read(error, "code") === "LH001");
}

/** Resolves a grace after the deadline; never when the handler is done by then. */
function pastGrace(
  deadline: AbortSignal,
  graceMs: number = defaultGraceMs,
  running: Promise<unknown>,
): Promise<Ending> {
  return new Promise((resolve) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onDeadline = () => {
      timer = setTimeout(() => resolve({ how: "ignored" }), graceMs);
    };
    if (deadline.aborted) onDeadline();
    else deadline.addEventListener("abort", onDeadline, { once: true });
    void running.then(() => {
      clearTimeout(timer);
      deadline.removeEventListener("abort", onDeadline);
    });
  });
}
