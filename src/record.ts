import type { Database } from "./database.ts";
import { describeError } from "./describe-error.ts";
import { LeaseholdError } from "./errors.ts";
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

/** Records an outcome by the SQL function that belongs to it. Rejects when the database can't. */
export async function record(call: Call, claim: Claim, outcome: Outcome): Promise<Recorded> {
  const named = { p_id: claim.id, p_generation: claim.generation };
  switch (outcome.action) {
    case "complete":
      return complete(call, claim, outcome.result);
    case "fail": {
      const status = await call("fail", {
        ...named,
        p_error: outcome.error,
        p_permanent: outcome.permanent,
        p_retry_after_ms: outcome.retryAfterMs,
      });
      return { status: (status ?? "lost") as Recorded["status"] };
    }
    case "release": {
      const released = await call("release", {
        ...named,
        p_retry_after_ms: outcome.retryAfterMs,
        p_error_code: outcome.code,
      });
      return { status: released ? "queued" : "lost" };
    }
    default:
      return { status: "completed" };
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
    const named = { p_id: claim.id, p_generation: claim.generation };
    const done = await call("complete", { ...named, p_result: stored });
    return { status: done ? "completed" : "lost" };
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    return completeWithout(call, claim, describeError(error).message);
  }
}

async function completeWithout(call: Call, claim: Claim, why: string): Promise<Recorded> {
  const error = { code: "RESULT_DROPPED", message: why };
  for (;;) {
    const answer = (await call("finish_many", {
      p_outcomes: [{ id: claim.id, generation: claim.generation, action: "complete", error }],
    })) as { done: unknown[]; busy: unknown[] };
    if (answer.done.length > 0) return { status: "completed", resultDropped: why };
    if (answer.busy.length === 0) return { status: "lost" };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Whether the database refused a value itself (class 22: data exception), rather than failed. */
export function isRefusedValue(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" && (/^22/.test(code) || error instanceof LeaseholdError);
}
