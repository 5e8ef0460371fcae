import type { KindStats } from "../../kind-stats.ts";
import { listing } from "../listing.ts";
import { readableDuration } from "../readable.ts";
import type { Column } from "../table.ts";

const columns: readonly Column<KindStats>[] = [
  ["QUEUED", (row) => row.queued],
  ["DUE", (row) => row.due],
  [
    "OLDEST DUE",
    (row) => (row.oldest_due_ms === null ? null : readableDuration(row.oldest_due_ms)),
  ],
  ["RUNNING", (row) => row.running],
  ["EXPIRED", (row) => row.expired],
  ["COMPLETED", (row) => row.completed],
  ["FAILED", (row) => row.failed],
  ["CANCELLED", (row) => row.cancelled],
  ["PAUSED", (row) => (row.paused ? "paused" : null)],
  ["KIND", (row) => row.kind],
];

export const statsCommand = listing({
  name: "stats",
  description: "Counts the jobs of each kind by status",
  rows: "kinds",
  columns,
  nothing: "No jobs.",
});
