/**
 * A process of its own that drains as its parent says: what SIGTERM, a blocked event loop and a
 * forgotten promise do to a process can't be tried in the one that runs the tests. Arguments: the
 * scenario, the database's URL, and one argument of the scenario's own.
 */
import { getEventListeners } from "node:events";
import { existsSync } from "node:fs";
import {
  createLeasehold,
  type DrainOptions,
  defineJob,
  type Handled,
  handle,
  type Job,
} from "../../../src/index.ts";
import { pg } from "../../../src/pg/index.ts";
import { onTermination } from "../../../src/termination.ts";

const [scenario = "", url = "", argument = ""] = process.argv.slice(2);

/** Rejects never; resolves when the message is written, so that a block may follow. */
function tell(message: object): Promise<void> {
  return new Promise((resolve) => {
    if (process.send) process.send(message, () => resolve());
    else resolve();
  });
}

/** Waits for the parent's word; until then the channel keeps the process alive. */
function word(): Promise<unknown> {
  return new Promise((resolve) => process.once("message", resolve));
}

function client(...handlers: Handled[]) {
  const leasehold = createLeasehold({ database: pg(url), handlers });
  leasehold.on("lost", (event) => tell({ lost: event }));
  return leasehold;
}

const job = defineJob("job", { lease: 300 });
const mail = defineJob("mail");

const scenarios: Record<string, () => Promise<void>> = {
  /** Drains until nothing is due, three jobs at a time. */
  async share() {
    const handled: unknown[] = [];
    const leasehold = client(
      handle(mail, ({ payload, generation }) => handled.push([payload, generation])),
    );
    await tell({ ready: true });
    await word();
    let processed = 0;
    for (let reason = ""; reason !== "empty"; ) {
      const report = await leasehold.drain({ maxJobs: 3, budget: "20s" });
      processed += report.processed;
      reason = report.reason;
    }
    await tell({ handled, processed });
  },

  /** Tells when its handler runs, which then waits for the signal. */
  async sigterm() {
    if (argument === "listens") process.on("SIGTERM", () => tell({ heard: true }));
    if (argument === "listens once") process.once("SIGTERM", () => tell({ heard: true }));
    const leasehold = client(
      handle(mail, async ({ payload }) => {
        // By the drain's own listener: another would be the application's, which ends the process itself.
        let hear = (): void => undefined;
        const signalled = new Promise<void>((resolve) => {
          hear = resolve;
        });
        const watch = onTermination({ onSignal: hear });
        await tell({ running: payload });
        await signalled;
        watch.stopWatching();
        return "finished";
      }),
    );
    const drains =
      argument === "twice" ? [leasehold.drain(), leasehold.drain()] : [leasehold.drain()];
    const reports = await Promise.all(drains);
    await tell({ reports });
  },

  /** Its first job blocks the event loop until the file named by the argument exists (S04). */
  async block() {
    const leasehold = client(
      handle(job, async ({ payload }: Job<unknown>) => {
        if (payload !== "blocks") return "next";
        await tell({ blocking: true });
        while (!existsSync(argument));
        return 1;
      }),
    );
    await tell({ report: await leasehold.drain() });
  },

  /** A handler that forgot to await, and one that would have been next (S31). */
  async forgotten() {
    const leasehold = client(
      handle(mail, async ({ payload }) => {
        if (payload === "forgets") void Promise.reject(new Error("nobody awaits me"));
        await new Promise((resolve) => setTimeout(resolve, 1));
        return "well";
      }),
    );
    if (argument === "listens") process.on("unhandledRejection", () => tell({ survived: true }));
    await tell({ report: await leasehold.drain() });
  },

  /** Many jobs in many drains with one signal, and then nothing more to do (S33). */
  async many() {
    const controller = new AbortController();
    const listeners = () => [
      getEventListeners(controller.signal, "abort").length,
      process.listenerCount("SIGTERM"),
    ];
    const leasehold = client(handle(mail, ({ signal }) => signal.aborted));
    const warnings: string[] = [];
    process.on("warning", (warning) => warnings.push(warning.message));
    await leasehold.enqueueMany(Array.from({ length: 2_000 }, () => ({ job: mail })));
    let completed = 0;
    const drain = async (options: DrainOptions = {}) => {
      const report = await leasehold.drain({ maxJobs: 20, ...options });
      completed += report.completed;
    };
    let during: number[] = [];
    leasehold.once("completed", () => {
      during = listeners();
    });
    while (completed < 1_500) await drain({ signal: controller.signal });
    // And many that overlap: a page view each, say.
    while (completed < 2_000) await Promise.all(Array.from({ length: 12 }, () => drain()));
    await tell({ completed, during, after: listeners(), warnings });
  },
};

await scenarios[scenario]?.();
