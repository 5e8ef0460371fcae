import { pool } from "./database.ts";
import { isGivenBack, type ListedJob, listJobs } from "./listed-jobs.ts";
import { subjectsOf } from "./mails.ts";

/** Something in the life of a job that did not go straight. */
export interface DeskEvent {
  readonly id: number;
  readonly at: string;
  /** failed, released, reaped, retried, refused, … */
  readonly event: string;
  readonly generation: number | null;
  readonly code: string | null;
  readonly message: string | null;
}

/** A job as the admin page shows it. */
export interface DeskJob {
  readonly id: string;
  readonly mailId: string;
  readonly subject: string;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly releases: number;
  readonly code: string | null;
  readonly message: string | null;
  /** When it goes on, or when it has ended. */
  readonly at: string;
  /** The newest twenty, the oldest of them first. */
  readonly events: readonly DeskEvent[];
}

/** What needs a person, and what will go on by itself. */
export interface Desk {
  readonly failed: readonly DeskJob[];
  /** Given back, the attempt not counted: a key was refused, or the time was over. */
  readonly released: readonly DeskJob[];
  /** To be tried again after a failure. */
  readonly retrying: readonly DeskJob[];
}

export async function desk(): Promise<Desk> {
  const [failed, queued] = await Promise.all([
    listJobs({ status: "failed" }),
    listJobs({ status: "queued" }),
  ]);
  const released = queued.filter(isGivenBack);
  const retrying = queued.filter((job) => job.attempts > 0 && !isGivenBack(job));
  const jobs = [...failed, ...released, ...retrying];
  const [events, subjects] = await Promise.all([
    eventsOf(jobs.map(({ id }) => id)),
    subjectsOf(jobs.map(({ key }) => key)),
  ]);
  const show = (job: ListedJob): DeskJob => ({
    id: job.id,
    mailId: job.key,
    subject: subjects.get(job.key) ?? job.key,
    attempts: job.attempts,
    maxAttempts: job.max_attempts,
    releases: job.releases,
    code: job.error_code,
    message: job.error_message,
    at: job.finished_at ?? job.run_after,
    events: events.get(job.id) ?? [],
  });
  return {
    failed: failed.map(show),
    released: released.map(show),
    retrying: retrying.map(show),
  };
}

/** Read as the owner of leasehold's schema; nobody else may. */
async function eventsOf(jobIds: readonly string[]): Promise<ReadonlyMap<string, DeskEvent[]>> {
  const { rows } = await pool.query<{ jobId: string; events: DeskEvent[] }>(
    `select j.id as "jobId", jsonb_agg(to_jsonb(e) order by e.id) as events
     from unnest($1::uuid[]) j (id) cross join lateral (
       select id, at, event, generation, code, message from leasehold.job_events
       where job_id = j.id order by id desc limit 20) e
     group by j.id`,
    [jobIds],
  );
  return new Map(rows.map(({ jobId, events }) => [jobId, events]));
}
