/**
 * A process with a worker of its own, which tells its parent what happens to its jobs. Argument: its
 * settings, as JSON.
 *
 *   write   its effect, a row, under guard and together with its completion
 *   hold    goes on until the parent says "go on", whatever its signal says, and then tries every
 *           write that a handler has
 *   inside  the same with a transaction of the job's open, which has its row locked
 *   patient goes on likewise, under a lease four times as long, and returns
 */
import { setTimeout as rest } from "node:timers/promises";
import { abortCause } from "../../../src/abort.ts";
import { createLeasehold, defineJob, handle, type Job } from "../../../src/index.ts";
import { pg } from "../../../src/pg/index.ts";
import { postgres } from "../../../src/postgres/index.ts";
import { type EffectClient, write, writeEffect } from "./effects.ts";

/** How a child is started. */
export interface ChildSettings {
  readonly driver: "pg" | "postgres";
  readonly url: string;
  /** Options of `work`. */
  readonly work: { readonly concurrency: number; readonly poll: number };
  /** Of the kinds `hold` and `inside`, in milliseconds. */
  readonly leaseMs: number;
}

process.on("disconnect", () => process.exit()); // nothing outlives its parent

const { driver, url, work, leaseMs } = JSON.parse(process.argv[2] ?? "{}") as ChildSettings;
const database = driver === "pg" ? pg(url) : postgres(url);

const tell = (message: object): void => void process.send?.(message);

/** Settles when the parent says that this job is to go on. */
const goOn = (id: string): Promise<void> =>
  new Promise((resolve) => {
    const look = (message: unknown): void => {
      if ((message as { goOn?: string }).goOn !== id) return;
      process.off("message", look);
      resolve();
    };
    process.on("message", look);
  });

function begun(job: Job): Promise<void> {
  const { id, generation, signal } = job;
  tell({ began: { id, generation } });
  signal.addEventListener("abort", () => tell({ aborted: { id, because: abortCause(signal) } }));
  return goOn(id);
}

/**
 * What a write came to: its answer where that is a boolean, else "done", or the code of a refusal. It
 * is tried again for as long as the network is to blame.
 */
async function insisted(work: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      const answer = await work();
      return typeof answer === "boolean" ? answer : "done";
    } catch (error) {
      const { code } = error as { code?: string };
      if (code?.startsWith("LH")) return code;
      await rest(50);
    }
  }
}

/** The fence in a transaction of the user's own. */
const guarded = (job: Job): Promise<unknown> =>
  database.transaction(async ({ client, call }) => {
    await call("guard", { p_id: job.id, p_generation: job.generation });
    await writeEffect(client as EffectClient, job);
  });

const writes = handle(write, (job) =>
  job.transaction((client: EffectClient) => writeEffect(client, job)),
);

const hold = handle(defineJob("hold", { lease: leaseMs }), async (job) => {
  await begun(job);
  const late = {
    step: await insisted(() => job.step("late", () => "saved")),
    guard: await insisted(() => guarded(job)),
    transaction: await insisted(() =>
      job.transaction((client: EffectClient) => writeEffect(client, job)),
    ),
    extend: await insisted(() => job.extend()),
  };
  tell({ tried: { id: job.id, generation: job.generation, late } });
});

const inside = handle(defineJob("inside", { lease: leaseMs }), (job) =>
  job.transaction(async (client: EffectClient) => {
    await writeEffect(client, job);
    await begun(job);
  }),
);

const patient = handle(defineJob("patient", { lease: 4 * leaseMs }), async (job) => {
  await begun(job);
  tell({ returned: { id: job.id } });
});

const leasehold = createLeasehold({ database, handlers: [writes, hold, inside, patient] });
leasehold.on("completed", ({ id, generation }) => tell({ completed: { id, generation } }));
leasehold.on("lost", ({ id, generation }) => tell({ lost: { id, generation } }));
leasehold.on("error", ({ during }) => tell({ trouble: during }));
const worker = leasehold.work(work);
const ready = setInterval(() => {
  if (!worker.health().ready) return;
  clearInterval(ready);
  tell({ ready: true });
}, 20);
