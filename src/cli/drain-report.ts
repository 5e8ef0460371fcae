import { describeError } from "../describe-error.ts";
import type { DrainReason, DrainReport } from "../drain.ts";
import type { FinishedJob } from "../finish.ts";
import { count, readableDuration } from "./readable.ts";
import { type Column, formatTable } from "./table.ts";
import { harmlessJson } from "./text-width.ts";

const columns: readonly Column<FinishedJob>[] = [
  ["ID", (job) => job.id],
  ["OUTCOME", (job) => job.outcome],
  ["ATTEMPT", (job) => job.attempt],
  ["TOOK", (job) => readableDuration(job.durationMs)],
  ["KIND", (job) => job.kind],
  ["WHY", (job) => job.code],
  ["KEY", (job) => job.key],
];

const reasons: Record<DrainReason, string> = {
  empty: "nothing more was due",
  maxJobs: "the most jobs that it may do were done (--max-jobs)",
  budget: "too little was left of its time (--budget, --reserve)",
  sigterm: "the process was told to stop",
  aborted: "it was told to stop at once",
  error: "the database could not be asked for the next job",
};

const outcomes = [
  "completed",
  "failed",
  "retried",
  "released",
  "cancelled",
  "lost",
  "unrecorded",
] as const;

/** What a drain did, one line a job, and why it stopped. */
export function formatReport(report: DrainReport): string {
  const summary = `${formatCounts(report)} Stopped: ${reasons[report.reason] ?? report.reason}.`;
  return report.jobs.length > 0 ? `${formatTable(columns, report.jobs)}\n\n${summary}` : summary;
}

type Counted = Pick<DrainReport, (typeof outcomes)[number] | "processed" | "durationMs">;

/** How many jobs ended, how, and in what time. */
export function formatCounts(report: Counted): string {
  const counts = outcomes
    .filter((outcome) => report[outcome] > 0)
    .map((outcome) => `${report[outcome]} ${outcome}`);
  const what = counts.length > 0 ? `: ${counts.join(", ")}` : "";
  return `${count(report.processed, "job")} in ${readableDuration(report.durationMs)}${what}.`;
}

/** The report as one JSON value; an error as its code and message. */
export function reportJson(report: DrainReport): string {
  const { error, ...rest } = report;
  if (error === undefined) return harmlessJson(JSON.stringify(rest));
  const { code, message } = describeError(error);
  return harmlessJson(JSON.stringify({ ...rest, error: { code, message } }));
}
