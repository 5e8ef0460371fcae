import type { ClientParts } from "./client-parts.ts";
import { describeError } from "./describe-error.ts";
import type { ClaimedJob } from "./job.ts";
import { jobEvent } from "./job-event.ts";
import type { Outcome } from "./outcome.ts";
import { type Finish, isRefusal, isRefusedValue, type Recorded, record } from "./record.ts";
import { nthWait } from "./waits.ts";

/** One job as a report shows it. */
export interface FinishedJob {
  readonly id: string;
  readonly kind: string;
  readonly key: string | null;
  readonly attempt: number;
  readonly generation: number;
  readonly outcome:
    | "completed"
    | "failed"
    | "retried"
    | "released"
    | "cancelled"
    | "lost"
    | "unrecorded";
  /** Why, where it did not complete. */
  readonly code?: string;
  readonly durationMs: number;
}

/** The waits between tries to record an outcome, in milliseconds; the last one is repeated. */
const recordAgainMs = [50, 200, 500, 1_000];

/** Tries where the database answers, and refuses: for ever, the slot would be lost with the job. */
const triesWhereRefused = 4;

export interface FinishOptions {
  /** How the outcome is sent. */
  readonly send: Finish;
  /** How long the attempt took. */
  readonly durationMs: number;
  /** Asks whether to go on trying `waitMs` from now, when the database is away. */
  patient(waitMs: number): boolean;
}

/**
 * Records what became of an attempt, and tells the events. A database that is away is asked again
 * for as long as the caller is patient; then the job stays running, and its lease brings it back.
 * Never rejects.
 */
export async function finish(
  parts: ClientParts,
  claimed: ClaimedJob,
  outcome: Outcome | null,
  { send, durationMs, patient }: FinishOptions,
): Promise<FinishedJob> {
  const told = { ...jobEvent(claimed), durationMs: Math.round(durationMs) };
  if (outcome === null) return tell(parts, told, outcome, lost);
  for (let i = 0; ; i += 1) {
    try {
      return tell(parts, told, outcome, await record(send, claimed, outcome));
    } catch (error) {
      const waitMs = nthWait(recordAgainMs, i);
      const refused = isRefusedValue(error) || (isRefusal(error) && i + 1 >= triesWhereRefused);
      if (refused || !patient(waitMs)) return unrecorded(parts, told, error);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

const lost: Recorded = { status: "lost" };

function unrecorded({ log, events }: ClientParts, told: Told, error: unknown): FinishedJob {
  log.error(
    { job: told.id, err: describeError(error) },
    "the outcome could not be recorded; the job's lease brings it back",
  );
  events.emit("error", { error, during: "record", id: told.id });
  return { ...told, outcome: "unrecorded", code: describeError(error).code };
}

type Told = ReturnType<typeof jobEvent> & { durationMs: number };

function tell(
  { events }: ClientParts,
  told: Told,
  outcome: Outcome | null,
  recorded: Recorded,
): FinishedJob {
  if (recorded.status === "lost" || outcome === null) {
    events.emit("lost", told);
    return { ...told, outcome: "lost" };
  }
  if (recorded.status === "cancelled") {
    events.emit("cancelled", told);
    return { ...told, outcome: "cancelled", code: "CANCELLED" };
  }
  switch (outcome.action) {
    case "fail": {
      const { error } = outcome;
      events.emit("failed", { ...told, status: recorded.status, error });
      const failed = recorded.status === "failed" ? "failed" : "retried";
      return { ...told, outcome: failed, code: error.code };
    }
    case "release": {
      const { code, retryAfterMs } = outcome;
      events.emit("released", { ...told, code, retryAfterMs });
      return { ...told, outcome: "released", code };
    }
    default: {
      const { resultDropped } = recorded;
      if (events.heard("completed")) {
        events.emit("completed", {
          ...told,
          ...(resultDropped !== undefined && { resultDropped }),
        });
      }
      return { ...told, outcome: "completed" };
    }
  }
}
