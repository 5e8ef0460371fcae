import type { Database } from "./database.ts";
import type { DrainReport } from "./drain.ts";
import { inTime } from "./in-time.ts";

/** What is left of a function's time is not for this. */
const withinMs = 5_000;

/**
 * Keeps the report as the last one of its trigger, for the overview: without its jobs, and without its
 * error, which may name hosts or hold SQL. Of a drain that ended with an error, that was told already,
 * and what keeps it from being noted is likely the same.
 */
export async function noteDrain(
  database: Database,
  p_trigger: string,
  { jobs: _, error: __, ...p_report }: DrainReport,
): Promise<void> {
  try {
    await inTime(database.call("note_drain", { p_trigger, p_report }), withinMs);
  } catch (error) {
    if (p_report.reason !== "error") throw error;
  }
}
