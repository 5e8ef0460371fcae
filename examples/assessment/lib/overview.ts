import type { Credits, Entry, JobMoney, JobStatus } from "leasehold";
import { assessmentsOf, forgetOldAddresses } from "./assessments";
import { assess } from "./jobs";
import { leasehold } from "./leasehold";
import type { Report } from "./report";

/** One assessment in the list. */
export interface PastAssessment {
  readonly id: string;
  readonly status: JobStatus;
  readonly money: JobMoney | null;
  readonly createdAt: string;
  readonly address: string | null;
  readonly report: Report | null;
}

export interface Overview {
  readonly credits: Credits;
  readonly entries: readonly Entry[];
  /** The newest first; the one that runs stands elsewhere. */
  readonly past: readonly PastAssessment[];
  /** The job to follow, whichever tab has started it. */
  readonly runningId: string | null;
}

/** All that the page shows of `owner`. */
export async function overviewOf(owner: string): Promise<Overview> {
  // Housekeeping that traffic starts: at most every ten minutes, and nobody waits for it.
  leasehold.sweep("old addresses", "10m", forgetOldAddresses);
  const [credits, { entries }, jobs] = await Promise.all([
    leasehold.credits(owner),
    leasehold.entries(owner, { limit: 8 }),
    jobsOf(owner),
  ]);
  const known = await assessmentsOf(jobs.map(({ id }) => id));
  const isOver = ({ status }: ListedJob) => status !== "queued" && status !== "running";
  const past = jobs.filter(isOver).map(({ id, status, money, created_at }) => ({
    id,
    status,
    money,
    createdAt: created_at,
    address: known.get(id)?.address ?? null,
    report: known.get(id)?.report ?? null,
  }));
  return { credits, entries, past, runningId: jobs.find((job) => !isOver(job))?.id ?? null };
}

/** What the SQL function `list` answers of a job, as far as it is used here. */
interface ListedJob {
  readonly id: string;
  readonly status: JobStatus;
  readonly money: JobMoney | null;
  readonly created_at: string;
}

/** The client has a method for what applications do often; any SQL function can be called, though. */
async function jobsOf(owner: string): Promise<readonly ListedJob[]> {
  const p_filter = { owner, kind: assess.kind, limit: 6 };
  const { jobs } = (await leasehold.database.call("list", { p_filter })) as { jobs: ListedJob[] };
  return jobs;
}
