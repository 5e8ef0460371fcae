import type { Report } from "../report.ts";
import { minimumMessages, type PlannedMessage } from "../scenarios.ts";
import { seconds } from "../timing.ts";
import type { Received } from "./inbox.ts";
import type { Entry } from "./journal.ts";

/** Tells what happens, line by line. */
export interface Narrator {
  /** What a worker reported. */
  entry(entry: Entry): void;
  /** What came in by the webhook. */
  received(received: Received): void;
  /** What the demo itself did. */
  demo(messageId: string, what: string): void;
}

const milestone = 20;

/**
 * Of the messages that play a scenario it tells all, of the load behind them only what did not go
 * straight, and how many are done.
 */
export function createNarrator(report: Report, plan: readonly PlannedMessage[]): Narrator {
  const scripted = new Set(plan.slice(0, minimumMessages).map(({ id }) => id));
  const staged = new Set(plan.filter(({ scenario }) => scenario.staged).map(({ id }) => id));
  let done = 0;

  function count(entry: Entry): void {
    if (entry.type !== "ended" || !["completed", "failed"].includes(entry.outcome)) return;
    done += 1;
    if (done % milestone !== 0 && done !== plan.length) return;
    report.progress("demo", "", `${done} of ${plan.length} messages are done`);
  }

  return {
    entry(entry) {
      const message = "messageId" in entry ? entry.messageId : "";
      const straight = entry.type === "ended" && entry.outcome === "completed";
      const quiet =
        ((entry.type === "stored" || entry.type === "kept") && !staged.has(message)) ||
        (entry.type === "drained" && entry.jobs === 0) ||
        ((entry.type === "started" || straight) && !scripted.has(message));
      if (!quiet) report.progress(entry.worker, message, entryText(entry));
      count(entry);
    },
    received({ mail, outcome }) {
      if (outcome === "created") return;
      report.progress("webhook", mail.id, `announced again: ${outcome}, no second job`);
    },
    demo: (messageId, what) => report.progress("demo", messageId, what),
  };
}

export function entryText(entry: Entry): string {
  switch (entry.type) {
    case "started":
      return `claimed: attempt ${entry.attempt}, generation ${entry.generation}`;
    case "stored":
      return `attachment ${entry.index + 1} is stored`;
    case "kept":
      return `attachment ${entry.index + 1} was stored before: goes on behind it`;
    case "ended":
      return endText(entry);
    case "stale":
      return `its late ${entry.write} (generation ${entry.generation}): ${entry.refused ? "refused" : "ACCEPTED"}`;
    case "drained":
      return `drain ended: ${entry.jobs} ${entry.jobs === 1 ? "job" : "jobs"}, ${entry.reason}`;
    case "trouble":
      return entry.text;
  }
}

function endText({ outcome, code, durationMs }: Extract<Entry, { type: "ended" }>): string {
  switch (outcome) {
    case "completed":
      return `completed in ${seconds(durationMs)}`;
    case "retried":
      return `${code}: to be tried again`;
    case "failed":
      return `${code}: failed for good`;
    case "released":
      return `${code}: given back, the attempt not counted`;
    case "lost":
      return "the lease is lost: stops, its result is dropped";
  }
}
