import type { JobOutcome } from "../expectations.ts";
import type { ReportRow } from "../report.ts";
import type { PlannedMessage } from "../scenarios.ts";
import type { Entry, Journal } from "./journal.ts";

/** The final table: each message as the database has its job, and why, as the workers told it. */
export function reportRows(
  plan: readonly PlannedMessage[],
  jobs: readonly JobOutcome[],
  journal: Journal,
): ReportRow[] {
  const found = new Map(jobs.map((job) => [job.messageId, job]));
  return plan.map(({ id, scenario }) => {
    const job = found.get(id);
    return {
      message: id,
      scenario: scenario.title,
      attempts: job?.attempts ?? 0,
      generation: job?.generation ?? 0,
      outcome: job?.status ?? "no job",
      why: whyOf(id, journal.entries),
    };
  });
}

/** One part for each claim of the message, in their order; empty when the first went straight. */
function whyOf(messageId: string, entries: readonly Entry[]): string {
  const own = entries.filter((entry) => "messageId" in entry && entry.messageId === messageId);
  const claims = own.filter((entry) => entry.type === "started");
  const parts = claims
    .sort((a, b) => a.generation - b.generation)
    .map(({ worker, generation }) => `${worker}: ${endOf(generation, own)}`);
  return parts.length === 1 && parts[0]?.endsWith(": done") ? "" : parts.join(" · ");
}

function endOf(generation: number, own: readonly Entry[]): string {
  const ended = own.find((entry) => entry.type === "ended" && entry.generation === generation);
  if (ended?.type !== "ended") {
    const taken = own.some((entry) => entry.type === "started" && entry.generation > generation);
    return taken ? "killed, its lease ran out" : "under way";
  }
  switch (ended.outcome) {
    case "completed":
      return "done";
    case "retried":
      return `${ended.code}, to be tried again`;
    case "failed":
      return `${ended.code}, for good`;
    case "released":
      return `${ended.code}, given back`;
    case "lost": {
      const stale = own.find((entry) => entry.type === "stale" && entry.generation === generation);
      const refused = stale?.type === "stale" && stale.refused;
      return refused ? "lost its lease, its complete was refused" : "lost its lease";
    }
  }
}
