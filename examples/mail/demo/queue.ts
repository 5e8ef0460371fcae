import { setTimeout as pause } from "node:timers/promises";
import type { Database } from "leasehold";
import type { JobOutcome } from "../expectations.ts";

/** A job as the function `list` shows it. */
interface ListedJob {
  readonly id: string;
  readonly key: string;
  readonly status: string;
  readonly attempts: number;
  readonly generation: number;
}

/** Waits until so many jobs have ended, by the function `stats`. */
export async function allEnded(database: Database, jobs: number): Promise<void> {
  for (;;) {
    const { kinds } = (await database.call("stats", {})) as {
      kinds: { completed: number; failed: number }[];
    };
    const ended = kinds.reduce((sum, kind) => sum + kind.completed + kind.failed, 0);
    if (ended >= jobs) return;
    await pause(100);
  }
}

/** All jobs as the database has them, page by page, by the function `list`. */
export async function listJobs(database: Database): Promise<JobOutcome[]> {
  const jobs: ListedJob[] = [];
  let after: string | null = null;
  do {
    const filter: object = { limit: 500, ...(after !== null && { after }) };
    const page = (await database.call("list", { p_filter: filter })) as {
      jobs: ListedJob[];
      next: string | null;
    };
    jobs.push(...page.jobs);
    after = page.next;
  } while (after !== null);
  return jobs
    .map(({ key, status, attempts, generation }) => ({
      messageId: key,
      status,
      attempts,
      generation,
    }))
    .sort((a, b) => a.messageId.localeCompare(b.messageId));
}
