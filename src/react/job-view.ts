import type { JobStatus } from "../queue.ts";
import type { JobMoney } from "../status.ts";

/** What became of a job's money. Only `checking` changes by itself after the job's end. */
export type Money = JobMoney;

/** A job as its owner sees it over HTTP. Times are ISO 8601 in UTC. */
export interface JobView<Result = unknown, Progress = unknown> {
  readonly id: string;
  readonly status: JobStatus;
  /** What the handler reported last; null before that. */
  readonly progress: Progress | null;
  /** What the handler returned; null until the job is completed, or where it returned nothing. */
  readonly result: Result | null;
  /** Why the last attempt failed, as a code; also while it is tried again. */
  readonly errorCode: string | null;
  readonly cancelRequested: boolean;
  readonly money: Money | null;
  /** What to tell the person who waits, as a code: `running`, `failed_given_back`, … */
  readonly notice: string;
  /** The same as text, in the language of the request's Accept-Language. */
  readonly message: string;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

/**
 * Whether nothing will change any more by itself: the job has ended, and what it cost is known. While
 * its money is `checking`, the notice still says neither that it was charged nor that it was not.
 */
export function isSettled(job: Pick<JobView, "status" | "money">): boolean {
  return job.status !== "queued" && job.status !== "running" && job.money !== "checking";
}
