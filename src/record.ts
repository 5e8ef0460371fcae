import type { Database } from "./database.ts";
import { describeError } from "./describe-error.ts";
import { toJsonValue } from "./json.ts";
import type { Outcome } from "./outcome.ts";

/** Where an attempt went, as recorded; "lost": the claim was not valid any more. */
export type Recorded = { status: FinishedStatus; resultDropped?: string } | { status: "lost" };

/** What of a claim the recording functions take. */
export interface Claim {
  readonly id: string;
  readonly generation: number;
}

/** One outcome, as `finish_many` takes it. */
export interface OutcomeArguments extends Claim {
  readonly action: "complete" | "fail" | "release";
  readonly [name: string]: unknown;
}

/** What `finish_many` answers. */
export interface FinishManyAnswer {
  readonly done: readonly { readonly id: string; readonly status: FinishedStatus }[];
  readonly refused: readonly string[];
  readonly busy: readonly string[];
}

type FinishedStatus = "completed" | "queued" | "failed" | "cancelled";

/** Sends one outcome to the database and answers where the job went; "busy": it was not asked yet. */
export type Finish = (outcome: OutcomeArguments) => Promise<FinishedStatus | "lost" | "busy">;

/** Records an outcome. Rejects when the database can't, or not yet. */
export function record(finish: Finish, claim: Claim, outcome: Outcome): Promise<Recorded> {
  switch (outcome.action) {
    case "complete":
      return complete(finish, claim, outcome.result);
    case "fail": {
      const { error, permanent, retryAfterMs } = outcome;
      return recordOne(finish, claim, {
        action: "fail",
        error,
        permanent,
        ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
      });
    }
    case "release": {
      const { retryAfterMs: retry_after_ms, code: error_code } = outcome;
      return recordOne(finish, claim, { action: "release", retry_after_ms, error_code });
    }
    default: {
      const { action: _, ...dropped } = outcome;
      return Promise.resolve({ status: "completed", ...dropped });
    }
  }
}

/**
 * Completes a job. A result that can't be stored is dropped, with an event RESULT_DROPPED: the work
 * is done and paid, and must not be done again for the sake of its answer.
 */
export async function complete(finish: Finish, claim: Claim, result: unknown): Promise<Recorded> {
  let stored: unknown;
  try {
    stored = toJsonValue(result, { what: "result" });
  } catch (error) {
    return completeWithout(finish, claim, describeError(error).message);
  }
  const { id, generation } = claim;
  try {
    return completed(
      recorded(await finish({ id, generation, action: "complete", result: stored })),
    );
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    return completeWithout(finish, claim, describeError(error).message);
  }
}

async function completeWithout(finish: Finish, claim: Claim, why: string): Promise<Recorded> {
  const error = { code: "RESULT_DROPPED", message: why };
  return completed(await recordOne(finish, claim, { action: "complete", error }), why);
}

/** Completed is completed, also where the job went straight into its next run. */
function completed({ status }: Recorded, resultDropped?: string): Recorded {
  if (status === "lost") return { status };
  return resultDropped === undefined
    ? { status: "completed" }
    : { status: "completed", resultDropped };
}

type Details = Pick<OutcomeArguments, "action"> & Readonly<Record<string, unknown>>;

async function recordOne(finish: Finish, claim: Claim, details: Details): Promise<Recorded> {
  const { id, generation } = claim;
  return recorded(await finish({ id, generation, ...details }));
}

function recorded(status: Awaited<ReturnType<Finish>>): Recorded {
  if (status !== "busy") return { status };
  throw Object.assign(new Error("another transaction holds the job"), { code: "JOB_BUSY" });
}

/**
 * Sends each outcome by a `finish_many` of its own, which tells where the job went and waits for
 * nobody: a handler that was given up may hold the job's row in a transaction of its own, for as long
 * as it likes.
 */
export function finishAlone(call: Database["call"]): Finish {
  return async (outcome) => {
    const answer = (await call("finish_many", { p_outcomes: [outcome] })) as FinishManyAnswer;
    return statusesIn(answer)(outcome);
  };
}

/** What became of each outcome of one call. */
export type StatusOf = (outcome: Claim) => Awaited<ReturnType<Finish>>;

/** Reads an answer of `finish_many`; `otherwise` holds for the jobs that it does not name. */
export function statusesIn(
  { done, refused, busy }: FinishManyAnswer,
  otherwise: "lost" | "completed" = "lost",
): StatusOf {
  const statuses = new Map<string, ReturnType<StatusOf>>();
  for (const { id, status } of done) statuses.set(id, status);
  for (const id of refused) statuses.set(id, "lost");
  for (const id of busy) statuses.set(id, "busy");
  return ({ id }) => statuses.get(id) ?? otherwise;
}

/**
 * Whether the database answered, and its answer is no: a constraint or trigger of the user's, a
 * missing right. It may be cured, but not by waiting; and where it refuses one outcome of many, it
 * refuses their call. (22, 23, 42, 44, 54, P0 and ours; not those of a failover, as 25006. Over rpc a
 * missing right is LH110 or LH111.)
 */
export function isRefusal(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" && /^((22|23|42|44|54|P0)...|LH0..|LH11[01])$/.test(code);
}

/** Whether the database refused a value itself, and will again (class 22: data exception). */
export function isRefusedValue(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" && /^(22...|LH00[234])$/.test(code);
}
