import { JobAbortedError } from "./abort.ts";
import { runAttempt } from "./attempt.ts";
import { claimedWithin, claimOne } from "./claim.ts";
import type { ClientParts } from "./client-parts.ts";
import type { Bounds } from "./drain-bounds.ts";
import { maxTimerMs } from "./duration.ts";
import { type FinishedJob, finish } from "./finish.ts";
import { inTime } from "./in-time.ts";
import type { ClaimedJob } from "./job.ts";
import { jobEvent } from "./job-event.ts";
import { type Finish, finishAlone } from "./record.ts";
import { observedAttempt } from "./telemetry.ts";
import { onTermination } from "./termination.ts";

export type { DrainOptions } from "./drain-bounds.ts";

/** How long a drain that lingers waits before it looks again. */
const lookMs = 250;

/** A call of the database has at least so long, however little is left of the budget: a busy one is slow. */
const leastCallMs = 5_000;

/** Why a drain stopped. */
export type DrainReason =
  /** Nothing was due any more. */
  | "empty"
  /** `maxJobs` is reached. */
  | "maxJobs"
  /** Less than `reserve` was left of the budget. */
  | "budget"
  /** The process received SIGTERM: nothing more is claimed; the job in hand was finished or given back. */
  | "sigterm"
  /** The caller's signal aborted. */
  | "aborted"
  /** The database could not be asked for the next job; see `error`. */
  | "error";

/** What a drain did. */
export interface DrainReport {
  readonly reason: DrainReason;
  /** Each job in the order of its claim. */
  readonly jobs: readonly FinishedJob[];
  /** How many jobs were claimed: the sum of the counts that follow. */
  readonly processed: number;
  readonly completed: number;
  /** Failed for good. */
  readonly failed: number;
  /** Failed, and queued for another attempt. */
  readonly retried: number;
  readonly released: number;
  readonly cancelled: number;
  /** The lease was lost: another claim owns the job, its result here was dropped. */
  readonly lost: number;
  /** The outcome could not be recorded: the job's lease brings it back. */
  readonly unrecorded: number;
  readonly durationMs: number;
  readonly error?: unknown;
}

/**
 * Works through due jobs, one at a time, within a time budget: the way to run jobs in a serverless
 * function. Two that overlap share the work and never a job. Near the end of the budget the handler
 * in hand is told by its signal to stop, and its job is given back, the attempt not counted; the
 * drain returns by its budget (plus the time of one call of the database, five seconds where that
 * does not answer), whatever the handler does. After SIGTERM it claims nothing more, and gives the job
 * in hand back where it has not ended within `shutdownGraceMs`.
 */
export async function drain(
  parts: ClientParts,
  bounds: Bounds,
  shutdownGraceMs: number,
): Promise<DrainReport> {
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  const stop = new AbortController();
  const graceMs = Math.min(1_000, bounds.reserveMs / 2, bounds.budgetMs / 10);
  const budgetTimer = setTimeout(
    () => stop.abort(new JobAbortedError("budget")),
    Math.max(bounds.budgetMs - graceMs, 0),
  );
  const onAbort = () => stop.abort(new JobAbortedError("shutdown"));
  let graceTimer: ReturnType<typeof setTimeout> | undefined;
  bounds.signal?.addEventListener("abort", onAbort, { once: true });
  if (bounds.signal?.aborted) onAbort();
  const termination = onTermination({
    onSignal: () => {
      graceTimer ??= setTimeout(onAbort, shutdownGraceMs);
    },
  });
  const jobs: FinishedJob[] = [];
  try {
    const end = await work();
    return report(end.reason, jobs, elapsedMs(), end.error);
  } finally {
    clearTimeout(budgetTimer);
    clearTimeout(graceTimer);
    bounds.signal?.removeEventListener("abort", onAbort);
    termination.stopWatching();
  }

  async function work(): Promise<{ reason: DrainReason; error?: unknown }> {
    await inTime(parts.defineKinds(), Math.max(bounds.budgetMs, leastCallMs));
    for (;;) {
      const leftMs = bounds.budgetMs - elapsedMs();
      if (bounds.signal?.aborted) return { reason: "aborted" };
      if (termination.received) return { reason: "sigterm" };
      if (jobs.length >= bounds.maxJobs) return { reason: "maxJobs" };
      if (leftMs < bounds.reserveMs) return { reason: "budget" };
      const timeoutMs = Math.min(Math.ceil(leftMs + bounds.reserveMs), maxTimerMs);
      let claimed: ClaimedJob | undefined;
      try {
        claimed = await claim(timeoutMs, Math.max(leftMs, leastCallMs));
      } catch (error) {
        // Without a job in hand there is nothing to report but the error itself.
        if (jobs.length === 0) throw error;
        parts.events.emit("error", { error, during: "claim" });
        return { reason: "error", error };
      }
      if (claimed === undefined) {
        if (elapsedMs() >= bounds.lingerMs) return { reason: "empty" };
        const waitMs = Math.min(lookMs, bounds.lingerMs - elapsedMs());
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        continue;
      }
      jobs.push(await runOne(claimed, timeoutMs));
    }
  }

  /** Rejects where no answer comes within `patienceMs`; what such a claim took goes back when it does. */
  async function claim(timeoutMs: number, patienceMs: number): Promise<ClaimedJob | undefined> {
    const except = jobs.map((job) => job.id);
    const claiming = claimOne(parts.database, { ...bounds, timeoutMs, except });
    return claimedWithin(patienceMs, claiming, giveBack);
  }

  async function giveBack(late: ClaimedJob | undefined): Promise<void> {
    if (late === undefined) return;
    const { id, generation } = late;
    const release = { action: "release", retry_after_ms: 0, error_code: "CLAIM_LOST" } as const;
    // Where that fails, its lease brings it back.
    await send(leastCallMs)({ id, generation, ...release }).catch(() => undefined);
  }

  /** Sends an outcome, and waits no longer than `patienceMs` for the answer. */
  function send(patienceMs: number): Finish {
    return finishAlone((name, args) => inTime(parts.database.call(name, args), patienceMs));
  }

  async function runOne(claimed: ClaimedJob, timeoutMs: number): Promise<FinishedJob> {
    const handled = parts.handlerOf(claimed.kind);
    const began = performance.now();
    parts.events.emit("started", jobEvent(claimed));
    const { finished } = await observedAttempt(parts, claimed, async () => {
      const outcome = await runAttempt({
        ...parts,
        claimed,
        handled,
        timeoutMs: Math.min(handled.definition.settings.timeoutMs ?? timeoutMs, timeoutMs),
        graceMs,
        stop: stop.signal,
        onError: (error) => parts.events.emit("error", { error, during: "extend", id: claimed.id }),
      });
      const giveUpAt = elapsedMs() + Math.max(bounds.budgetMs - elapsedMs(), 1_000);
      const finished = await finish(parts, claimed, outcome, {
        send: (outcome) => send(Math.max(giveUpAt - elapsedMs(), leastCallMs))(outcome),
        durationMs: performance.now() - began,
        patient: (waitMs) => elapsedMs() + waitMs <= giveUpAt,
      });
      return { finished, outcome };
    });
    return finished;
  }
}

function report(
  reason: DrainReason,
  jobs: readonly FinishedJob[],
  durationMs: number,
  error: unknown,
): DrainReport {
  const count = (outcome: FinishedJob["outcome"]) =>
    jobs.filter((job) => job.outcome === outcome).length;
  return {
    reason,
    jobs,
    processed: jobs.length,
    completed: count("completed"),
    failed: count("failed"),
    retried: count("retried"),
    released: count("released"),
    cancelled: count("cancelled"),
    lost: count("lost"),
    unrecorded: count("unrecorded"),
    durationMs: Math.round(durationMs),
    ...(error !== undefined && { error }),
  };
}
