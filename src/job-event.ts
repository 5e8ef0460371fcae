import type { ErrorDescription } from "./describe-error.ts";
import type { DrainReport } from "./drain.ts";
import type { ClaimedJob } from "./job.ts";

/** What every event about a job tells. */
export interface JobEvent {
  readonly id: string;
  readonly kind: string;
  readonly key: string | null;
  readonly attempt: number;
  readonly generation: number;
}

/** An attempt that has ended. */
export interface EndEvent extends JobEvent {
  readonly durationMs: number;
}

/** The events of a client, by name. */
export interface LeaseholdEvents {
  /** A job was claimed and its handler is about to run. */
  started: JobEvent;
  /** `resultDropped` says why, where the result could not be stored. */
  completed: EndEvent & { readonly resultDropped?: string };
  /** An attempt failed; `status` is where the job went: queued (it is tried again) or failed. */
  failed: EndEvent & { readonly status: string; readonly error: ErrorDescription };
  /** Given back, the attempt not counted. */
  released: EndEvent & { readonly code: string; readonly retryAfterMs: number };
  cancelled: EndEvent;
  /** The claim was not valid any more: whatever the handler did, its outcome was refused. */
  lost: EndEvent;
  /** A drain has ended. */
  drained: DrainReport;
  /** Something of ours failed that no caller waits for. */
  error: {
    readonly error: unknown;
    readonly during:
      | "claim"
      | "extend"
      | "record"
      | "beat"
      | "listen"
      | "housekeeping"
      | "alert"
      | "cache"
      | "drain"
      | "sweep"
      | "request";
    readonly id?: string;
  };
}

/** The part of a claim that events tell. */
export function jobEvent({ id, kind, key, attempts, generation }: ClaimedJob): JobEvent {
  return { id, kind, key, attempt: attempts, generation };
}
