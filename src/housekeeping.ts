import type { ClientParts } from "./client-parts.ts";

/** How often finished jobs that are past their kind's `retain` are deleted, at the most. */
const pruneEveryMs = 60_000;

/**
 * Deletes what is past its time, in the wake of other work and at most once a minute in the whole
 * system, so that nothing needs a cron for it. A failure is told and does no harm.
 */
export async function pruneNowAndThen({ database, events }: ClientParts): Promise<void> {
  try {
    const due = await database.call("every", {
      p_name: "leasehold.prune",
      p_interval_ms: pruneEveryMs,
    });
    if (due) await database.call("prune", {});
  } catch (error) {
    events.emit("error", { error, during: "housekeeping" });
  }
}
