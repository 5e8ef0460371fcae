import { type AbortCause, abortCause } from "./abort.ts";
import { classify, type Verdict } from "./classify.ts";
import type { Classify } from "./define.ts";
import { describeError, type ErrorDescription } from "./describe-error.ts";
import type { ClaimedJob } from "./job.ts";
import type { Logger } from "./logger.ts";

/** How a handler came to its end. */
export type Ending =
  | { how: "returned"; result: unknown }
  | { how: "threw"; thrown: unknown }
  /** It asked for this by `job.release`. */
  | { how: "released"; retryAfterMs: number; code: string }
  /** Completed by `job.transaction`, already recorded. */
  | { how: "committed" }
  /** Told to stop, it went on beyond its grace. */
  | { how: "ignored" };

/** What is to be recorded of an attempt; null where the lease is lost and nothing can be. */
export type Outcome =
  | { action: "complete"; result: unknown }
  | { action: "fail"; error: ErrorDescription; permanent: boolean; retryAfterMs?: number }
  | { action: "release"; retryAfterMs: number; code: string }
  | { action: "none" };

/** A release gives a job back for at least a second, or it would come round in a hot loop. */
export const minReleaseMs = 1_000;

/** The fifth release in a row at the end of a budget counts as a failed attempt. */
const maxBudgetReleases = 4;

/**
 * What becomes of an attempt, from how its handler ended and whether it had been told to stop.
 * A result counts even when it comes after the signal; what was thrown after it mostly says no more
 * than that the handler stopped, so then the signal's reason decides.
 */
export function decide(
  claimed: ClaimedJob,
  ending: Ending,
  signal: AbortSignal,
  own: { classify: Classify | undefined; log: Logger },
): Outcome | null {
  const because = abortCause(signal);
  if (ending.how === "committed") return { action: "none" };
  if (because === "lost") return null;
  if (ending.how === "returned") return { action: "complete", result: ending.result };
  if (ending.how === "released") {
    return { action: "release", retryAfterMs: ending.retryAfterMs, code: ending.code };
  }
  const thrown = ending.how === "threw" ? ending.thrown : signal.reason;
  const verdict = judge(thrown, own);
  const permanent = verdict.action === "fail" && verdict.permanent;
  if (because !== undefined && !(ending.how === "threw" && permanent)) {
    return stopped(because, claimed, ending.how === "ignored");
  }
  if (verdict.action === "release") {
    return { ...verdict, retryAfterMs: Math.max(verdict.retryAfterMs, minReleaseMs) };
  }
  return { ...verdict, error: describeError(thrown) };
}

function judge(thrown: unknown, { classify: own, log }: Parameters<typeof decide>[3]): Verdict {
  const verdict = classify(thrown);
  if (own === undefined) return verdict;
  try {
    return own(thrown, verdict) ?? verdict;
  } catch (error) {
    log.error({ err: describeError(error) }, "classify threw; the default verdict holds");
    return verdict;
  }
}

function stopped(because: AbortCause, claimed: ClaimedJob, ignored: boolean): Outcome {
  const still = ignored ? "; the handler did not stop when it was told to" : "";
  const failed = (code: string, message: string): Outcome => ({
    action: "fail",
    permanent: false,
    error: { code, message: `${message}${still}` },
  });
  switch (because) {
    case "timeout":
      return failed("TIMEOUT", "the attempt ran longer than its timeout");
    case "cancel":
      return failed("CANCELLED", "the job was cancelled while it ran");
    case "budget":
      return claimed.budget_releases >= maxBudgetReleases
        ? failed("BUDGET_EXCEEDED", "the job did not fit into the time budget five times in a row")
        : { action: "release", retryAfterMs: 0, code: "BUDGET_EXCEEDED" };
    default:
      return { action: "release", retryAfterMs: 0, code: "SHUTDOWN" };
  }
}
