/** Why a handler was asked to stop. */
export type AbortCause =
  /** Another claim owns the job, or it has ended: whatever the handler still does is refused. */
  | "lost"
  /** Somebody cancelled the job. */
  | "cancel"
  /** The attempt ran longer than its timeout. */
  | "timeout"
  /** The time budget of this drain is at its end: the job is given back. */
  | "budget"
  /** This process is stopping: the job is given back. */
  | "shutdown";

const texts: Record<AbortCause, string> = {
  lost: "the lease is lost: another claim owns the job now, or it has ended",
  cancel: "the job was cancelled",
  timeout: "the attempt ran longer than its timeout",
  budget: "the time budget is at its end",
  shutdown: "the process is stopping",
};

/**
 * The reason of a job's `signal`, and what `fetch(url, { signal })` and the like then throw.
 * `cause` of the standard error stays free; `because` says which it is.
 */
export class JobAbortedError extends Error {
  override readonly name = "AbortError";
  readonly because: AbortCause;

  constructor(because: AbortCause) {
    super(texts[because]);
    this.because = because;
  }
}

/** Which cause an aborted signal of ours carries; undefined while it is not aborted. */
export function abortCause(signal: AbortSignal): AbortCause | undefined {
  return signal.reason instanceof JobAbortedError ? signal.reason.because : undefined;
}
