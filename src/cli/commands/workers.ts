import { listing } from "../listing.ts";
import { readableTime } from "../readable.ts";
import type { Column } from "../table.ts";

/** What SQL's workers answers of one worker. */
export interface WorkerRow {
  readonly id: string;
  readonly name: string;
  readonly kinds: readonly string[];
  readonly concurrency: number;
  readonly running: number;
  readonly idle: boolean;
  readonly idle_since: string | null;
  readonly listening: boolean;
  readonly started_at: string;
  readonly seen_at: string;
}

const columns: readonly Column<WorkerRow>[] = [
  ["SINCE", (row) => readableTime(row.started_at)],
  ["RUNNING", (row) => `${row.running}/${row.concurrency}`],
  ["IDLE SINCE", (row) => readableTime(row.idle_since)],
  ["HEARS BY", (row) => (row.listening ? "listening" : "polling")],
  ["LAST SEEN", (row) => readableTime(row.seen_at)],
  ["NAME", (row) => row.name],
  ["KINDS", (row) => row.kinds.join(", ")],
];

export const workersCommand = listing({
  name: "workers",
  description: "Lists the long-running workers that are alive, the oldest first",
  rows: "workers",
  columns,
  nothing: "No workers.",
});
