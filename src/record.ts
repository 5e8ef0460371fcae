import type { Arguments, Database } from "./database.ts";
import { describeError } from "./describe-error.ts";
import { toJsonValue } from "./json.ts";
import type { Outcome } from "./outcome.ts";

/** Where an attempt went, as recorded; "lost": the claim was not valid any more. */
export type Recorded =
  | { status: "completed" | "queued" | "failed" | "cancelled"; resultDropped?: string }
  | { status: "lost" };

/** What of a claim the recording functions take. */
export interface Claim {
  readonly id: string;
  readonly generation: number;
}

type Call = Database["call"];

/** Records an outcome. Rejects when the database can't, or not yet. */
export async function record(call: Call, claim: Claim, outcome: Outcome): Promise<Recorded> {
  switch (outcome.action) {
    case "complete":
      return complete(call, claim, outcome.result);
    case "fail": {
      const { error, permanent, retryAfterMs } = outcome;
      return finishOne(call, claim, {
        action: "fail",
        error,
        permanent,
        ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
      });
    }
    case "release": {
      const { retryAfterMs: retry_after_ms, code: error_code } = outcome;
      return finishOne(call, claim, { action: "release", retry_after_ms, error_code });
    }
    default: {
      const { action: _, ...dropped } = outcome;
      return { status: "completed", ...dropped };
    }
  }
}

/**
 * Completes a job. A result that can't be stored is dropped, with an event RESULT_DROPPED: the work
 * is done and paid, and must not be done again for the sake of its answer.
 */
export async function complete(call: Call, claim: Claim, result: unknown): Promise<Recorded> {
  let stored: unknown;
  try {
    stored = toJsonValue(result, { what: "result" });
  } catch (error) {
    return completeWithout(call, claim, describeError(error).message);
  }
  try {
    return completed(await finishOne(call, claim, { action: "complete", result: stored }));
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    return completeWithout(call, claim, describeError(error).message);
  }
}

async function completeWithout(call: Call, claim: Claim, why: string): Promise<Recorded> {
  const error = { code: "RESULT_DROPPED", message: why };
  return completed(await finishOne(call, claim, { action: "complete", error }), why);
}

/** Completed is completed, also where the job went straight into its next run. */
function completed({ status }: Recorded, resultDropped?: string): Recorded {
  if (status === "lost") return { status };
  return { status: "completed", ...(resultDropped !== undefined && { resultDropped }) };
}

/**
 * One outcome by `finish_many`, which tells where the job went and waits for nobody: a handler that
 * was given up may hold the job's row in a transaction of its own, for as long as it likes.
 */
async function finishOne(call: Call, claim: Claim, outcome: Arguments): Promise<Recorded> {
  const { id, generation } = claim;
  const { done, busy } = (await call("finish_many", {
    p_outcomes: [{ id, generation, ...outcome }],
  })) as { done: Recorded[]; busy: unknown[] };
  if (done[0] !== undefined) return { status: done[0].status };
  if (busy.length === 0) return { status: "lost" };
  throw Object.assign(new Error("another transaction holds the job"), { code: "JOB_BUSY" });
}

/** Whether the database refused a value itself, and will again (class 22: data exception). */
export function isRefusedValue(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" && /^(22...|LH00[234])$/.test(code);
}
