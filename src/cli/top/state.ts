import type { KindStats } from "../../kind-stats.ts";
import type { WorkerRow } from "../commands/workers.ts";
import type { JsonCalls } from "../database.ts";

/** What SQL's list answers of a running job, as far as it is shown. */
export interface RunningJob {
  readonly id: string;
  readonly kind: string;
  readonly key: string | null;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly worker: string | null;
  readonly cancel_requested: boolean;
  readonly claimed_at: string | null;
  readonly lease_until: string;
}

/** The queue at one moment. */
export interface TopState {
  /** The database's clock, which all times here are of. */
  readonly at: string;
  readonly kinds: readonly KindStats[];
  readonly workers: readonly WorkerRow[];
  /** The oldest claim first. */
  readonly jobs: readonly RunningJob[];
}

/** A screen shows fewer, and a longer list would cost the database more than it tells. */
const maxJobs = 1_000;

/** One state as a line of JSON: the answers of SQL's stats, workers and list. */
export async function readJson({ call }: JsonCalls): Promise<string> {
  const stats = await call("stats", {});
  const workers = await call("workers", {});
  const running = await call("list", { p_filter: { status: "running", limit: maxJobs } });
  return `{"stats": ${stats}, "workers": ${workers}, "running": ${running}}`;
}

export function parseState(json: string): TopState {
  const { stats, workers, running } = JSON.parse(json) as {
    stats: { kinds: KindStats[] };
    workers: { at: string; workers: WorkerRow[] };
    running: { jobs: RunningJob[] };
  };
  return {
    at: workers.at,
    kinds: stats.kinds,
    workers: workers.workers,
    jobs: running.jobs.sort((a, b) => order(a.claimed_at ?? "", b.claimed_at ?? "")),
  };
}

/** ISO 8601 in UTC sorts as text. */
function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
