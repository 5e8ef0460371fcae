import { isGivenBack, type ListedJob } from "./listed-jobs.ts";

/** How far a mail is. `again`: when it goes on at the earliest, ISO 8601. */
export type MailState =
  | { readonly at: "waiting" }
  | { readonly at: "fetching"; readonly attempt: number }
  /** An attempt has failed. */
  | {
      readonly at: "retrying";
      readonly code: string;
      readonly again: string;
      readonly attempt: number;
      readonly of: number;
    }
  /** Given back, the attempt not counted. */
  | { readonly at: "resting"; readonly code: string; readonly again: string }
  | { readonly at: "done" }
  | { readonly at: "failed"; readonly code: string; readonly attempts: number };

/** Out of the mail itself, where its attachments are there, else out of its job. */
export function stateOf(isFetched: boolean, job: ListedJob | undefined): MailState {
  if (isFetched) return { at: "done" };
  // A failed job that has been pruned, after 90 days.
  if (job === undefined) return { at: "failed", code: "UNKNOWN", attempts: 0 };
  const { status, attempts, max_attempts: of, error_code, run_after: again } = job;
  const code = error_code ?? "UNKNOWN";
  if (status === "running") return { at: "fetching", attempt: attempts };
  if (status !== "queued") return { at: "failed", code, attempts };
  if (isGivenBack(job)) return { at: "resting", code, again };
  // None yet, or run again by a person, who gives it all its attempts back.
  if (attempts === 0) return { at: "waiting" };
  return { at: "retrying", code, again, attempt: attempts, of };
}
