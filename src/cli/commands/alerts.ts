import { listing } from "../listing.ts";
import { readableTime } from "../readable.ts";
import type { Column } from "../table.ts";

/** What SQL's alerts answers of one alert. */
interface Alert {
  readonly at: string;
  readonly severity: string;
  readonly code: string;
  readonly job_id: string | null;
  readonly message: string;
  readonly told_at: string | null;
}

const columns: readonly Column<Alert>[] = [
  ["AT", (row) => readableTime(row.at)],
  ["SEVERITY", (row) => row.severity],
  ["CODE", (row) => row.code],
  ["TOLD", (row) => readableTime(row.told_at)],
  ["JOB", (row) => row.job_id],
  ["MESSAGE", (row) => row.message],
];

export const alertsCommand = listing({
  name: "alerts",
  description: "Lists what a person must look at, the newest first",
  rows: "alerts",
  columns,
  nothing: "No alerts.",
});
