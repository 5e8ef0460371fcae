import type { JobStatus } from "leasehold";
import { fetchEmail } from "./jobs.ts";
import { leasehold } from "./leasehold.ts";

/** What the SQL function `list` answers of a job, as far as it is used here. */
export interface ListedJob {
  readonly id: string;
  /** The mail's id. */
  readonly key: string;
  readonly status: JobStatus;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly releases: number;
  readonly error_code: string | null;
  readonly error_message: string | null;
  /** ISO 8601, as are all times. */
  readonly run_after: string;
  readonly finished_at: string | null;
}

/** The newest first. The client has methods for what is done often; any SQL function can be called. */
export async function listJobs(
  filter: { readonly ids: readonly string[] } | { readonly status: JobStatus },
): Promise<readonly ListedJob[]> {
  const p_filter = { ...filter, kind: fetchEmail.kind, limit: 100 };
  const { jobs } = (await leasehold.database.call("list", { p_filter })) as { jobs: ListedJob[] };
  return jobs;
}

/** Whether a queued job was given back the last time: that leaves a code, and no message. */
export function isGivenBack({ releases, error_message }: ListedJob): boolean {
  return releases > 0 && error_message === null;
}
