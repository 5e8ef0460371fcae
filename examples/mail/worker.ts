/**
 * A worker: a process that drains the queue again and again. The demo starts several of them, kills
 * one and stops another. In a serverless application the inside of the loop is the function, and
 * what calls it (a cron, the route behind the webhook) is the loop.
 */
import { setTimeout as pause } from "node:timers/promises";
import {
  createLeasehold,
  type Database,
  type EndEvent,
  type JobEvent,
  type Leasehold,
} from "leasehold";
import { pg } from "leasehold/pg";
import { defineFetchEmail, handleFetchEmail } from "./jobs.ts";
import { stopMessage, type WorkerReport, type WorkerSettings } from "./protocol.ts";
import { socketDatabase } from "./socket-database.ts";
import { writeAnyway } from "./stale-write.ts";

const stopping = new AbortController();
const begun = new Promise<WorkerSettings>((resolve) => {
  process.on("message", (message) => {
    if (message === stopMessage) stopping.abort();
    else resolve(message as WorkerSettings);
  });
});
// The demo has ended, however it ended: no worker is left behind.
process.once("disconnect", () => process.exit());
// Ctrl-C reaches every process of the terminal; the demo decides what becomes of its workers.
process.on("SIGINT", () => {});

await work(await begun, stopping.signal);
process.removeAllListeners("disconnect");
process.disconnect();

async function work(settings: WorkerSettings, signal: AbortSignal): Promise<void> {
  const { name, provider, storage, timing, database: where } = settings;
  const database = openDatabase(where);
  const mailSchema = where.at === "server" ? where.mailSchema : undefined;
  const handled = handleFetchEmail(defineFetchEmail(timing), {
    worker: name,
    provider,
    storage,
    mailSchema,
    timing,
    onAttachment: (how, index, { payload: { messageId }, generation }) =>
      tell({ type: how, messageId, generation, index }),
  });
  const leasehold = createLeasehold({ database, handlers: [handled] });
  tellEvents(leasehold);
  const { budgetMs: budget, reserveMs: reserve, pollMs } = timing;
  while (!signal.aborted) {
    const report = await leasehold.drain({ budget, reserve, maxJobs: 3, worker: name, signal });
    tell({ type: "drained", jobs: report.processed, reason: report.reason });
    for (const lost of report.jobs.filter(({ outcome }) => outcome === "lost")) {
      for (const answer of await writeAnyway(database, lost, mailSchema)) tell(answer);
    }
    if (report.processed === 0) await pause(pollMs, undefined, { signal }).catch(() => {});
  }
  await leasehold.close();
}

function openDatabase(where: WorkerSettings["database"]): Database {
  if (where.at === "socket") return socketDatabase(where.path);
  return pg(process.env.DATABASE_URL ?? "", { schema: where.schema });
}

function tell(report: WorkerReport): void {
  process.send?.(report);
}

function tellEvents(leasehold: Leasehold): void {
  leasehold.on("started", (event) =>
    tell({ type: "started", ...claim(event), attempt: event.attempt }),
  );
  leasehold.on("completed", (event) => tellEnd(event, "completed"));
  leasehold.on("failed", (event) =>
    tellEnd(event, event.status === "queued" ? "retried" : "failed", event.error.code),
  );
  leasehold.on("released", (event) => tellEnd(event, "released", event.code));
  leasehold.on("lost", (event) => tellEnd(event, "lost"));
  leasehold.on("error", ({ error, during }) =>
    tell({ type: "trouble", text: `${during}: ${String(error)}` }),
  );
}

type Outcome = Extract<WorkerReport, { type: "ended" }>["outcome"];

function tellEnd(event: EndEvent, outcome: Outcome, code?: string): void {
  const { durationMs } = event;
  tell({
    type: "ended",
    ...claim(event),
    outcome,
    durationMs,
    ...(code !== undefined && { code }),
  });
}

function claim({ key, generation }: JobEvent): { messageId: string; generation: number } {
  return { messageId: key ?? "", generation };
}
