import type { AbortCause, JobAbortedError } from "./abort.ts";
import { classify, type Verdict } from "./classify.ts";
import type { Classify } from "./define.ts";
import { describeError, type ErrorDescription } from "./describe-error.ts";
import { durationMs } from "./duration.ts";
import { invalidArgument } from "./errors.ts";
import { callSafely } from "./events.ts";
import type { ClaimedJob } from "./job.ts";
import type { Logger } from "./logger.ts";
import { text } from "./options.ts";

/** How a handler came to its end. */
export type Ending =
  | { how: "returned"; result: unknown }
  | { how: "threw"; thrown: unknown }
  /** It asked for this by `job.release`. */
  | { how: "released"; retryAfterMs: number; code: string }
  /** Completed by `job.transaction`, already recorded. */
  | { how: "committed"; resultDropped?: string }
  /** Told to stop, it went on beyond its grace. */
  | { how: "ignored" };

/** What is to be recorded of an attempt; null where the lease is lost and nothing can be. */
export type Outcome =
  | { action: "complete"; result: unknown }
  | { action: "fail"; error: ErrorDescription; permanent: boolean; retryAfterMs?: number }
  | { action: "release"; retryAfterMs: number; code: string }
  /** Completed by `job.transaction`. */
  | { action: "none"; resultDropped?: string };

/** A release gives a job back for at least a second, or it would come round in a hot loop. */
export const minReleaseMs = 1_000;

/** The fifth release in a row at the end of a budget counts as a failed attempt. */
const maxBudgetReleases = 4;

/**
 * What becomes of an attempt, from how its handler ended and whether it had been told to stop.
 * A result counts even when it comes after the signal; what was thrown after it mostly says no more
 * than that the handler stopped, so then the reason decides why it was told to: `stopped`.
 */
export function decide(
  claimed: ClaimedJob,
  ending: Ending,
  stopped: JobAbortedError | undefined,
  own: {
    classify: Classify | undefined;
    log: () => Logger;
    onShutdown?: "release" | "fail" | undefined;
  },
): Outcome | null {
  const because = stopped?.because;
  if (ending.how === "committed") {
    const { how: _, ...dropped } = ending;
    return { action: "none", ...dropped };
  }
  if (because === "lost") return null;
  if (ending.how === "returned") return { action: "complete", result: ending.result };
  if (ending.how === "released") {
    return { action: "release", retryAfterMs: ending.retryAfterMs, code: ending.code };
  }
  const thrown = ending.how === "threw" ? ending.thrown : stopped;
  const verdict = judge(thrown, own);
  const permanent = verdict.action === "fail" && verdict.permanent;
  if (because !== undefined && !(ending.how === "threw" && permanent)) {
    return stoppedOutcome(because, claimed, {
      ignored: ending.how === "ignored",
      failsAtShutdown: own.onShutdown === "fail",
    });
  }
  if (verdict.action === "release") {
    return { ...verdict, retryAfterMs: Math.max(verdict.retryAfterMs, minReleaseMs) };
  }
  return { ...verdict, error: describeError(thrown) };
}

function judge(
  thrown: unknown,
  { classify: own, log }: Pick<Parameters<typeof decide>[3], "classify" | "log">,
): Verdict {
  const verdict = classify(thrown);
  if (own === undefined) return verdict;
  try {
    const answer: unknown = own(thrown, verdict);
    return answer === undefined || answer === null ? verdict : checkedVerdict(answer);
  } catch (error) {
    log().error({ err: describeError(error) }, "classify gave no verdict; the default one holds");
    return verdict;
  }
}

/** The user's verdict, its numbers made fit for SQL. Throws LH002 where it is none. */
function checkedVerdict(answer: unknown): Verdict {
  callSafely(
    () => answer, // where it is a promise, nobody else waits for it
    () => {},
  );
  const { action, permanent, retryAfterMs, code } = answer as Record<string, unknown>;
  const waitMs =
    retryAfterMs === undefined
      ? undefined
      : durationMs("retryAfterMs", Math.ceil(retryAfterMs as number));
  if (action === "release" && waitMs !== undefined) {
    return { action, retryAfterMs: waitMs, code: text("code", code, { maxBytes: 100 }) };
  }
  if (action === "fail" && typeof permanent === "boolean") {
    return { action, permanent, ...(waitMs !== undefined && { retryAfterMs: waitMs }) };
  }
  const accepted = 'a Verdict at once, such as { action: "fail", permanent: true }';
  throw invalidArgument("the answer of classify", answer, accepted);
}

function stoppedOutcome(
  because: AbortCause,
  claimed: ClaimedJob,
  { ignored, failsAtShutdown }: { ignored: boolean; failsAtShutdown: boolean },
): Outcome {
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
      // Nobody else would start it: whoever waits for it is to be told now.
      return failsAtShutdown
        ? failed("SHUTDOWN", "the process that ran the job was stopped")
        : { action: "release", retryAfterMs: 0, code: "SHUTDOWN" };
  }
}
