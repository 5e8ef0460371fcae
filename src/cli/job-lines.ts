import type { EndEvent, LeaseholdEvents } from "../job-event.ts";
import type { RunnableClient } from "./handler-exports.ts";
import { printNote } from "./output.ts";
import { readableDuration } from "./readable.ts";
import { tellError } from "./runnable-client.ts";
import { oneLine } from "./text-width.ts";

/** A line for each job that does not go straight; for every one where that is wanted. */
export function tellJobs(client: RunnableClient, verbose: boolean): void {
  const line = (what: string, { id, kind, key, attempt, durationMs }: EndEvent, why = "") =>
    printNote(
      oneLine(
        `${what} ${kind} ${id}${key === null ? "" : ` ${key}`}, attempt ${attempt}, ${readableDuration(durationMs)}${why}`,
      ),
    );
  client.on("failed", (event) => {
    const { code, message } = event.error;
    line(event.status === "queued" ? "retried" : event.status, event, `: ${code}: ${message}`);
  });
  client.on("released", (event) => line("released", event, `: ${event.code}`));
  client.on("cancelled", (event) => line("cancelled", event));
  client.on("lost", (event) => line("lost", event));
  if (verbose) client.on("completed", (event) => line("completed", event));
}

/** What concerns the database as a whole, the worker logs itself. */
export function tellOwnError(event: LeaseholdEvents["error"]): void {
  if (event.during === "extend" || event.during === "housekeeping") tellError(event);
}
