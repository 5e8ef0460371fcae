/**
 * A process of its own that works as its parent says. Arguments: the scenario, the database's URL,
 * and one argument of the scenario's own.
 */
import { getEventListeners } from "node:events";
import { existsSync } from "node:fs";
import { createLeasehold, defineJob, type Handled, handle } from "../../../src/index.ts";
import { pg } from "../../../src/pg/index.ts";

const [scenario = "", url = "", argument = ""] = process.argv.slice(2);

/** Resolves when the message is written, so that a block may follow. */
function tell(message: object): Promise<void> {
  return new Promise((resolve) => {
    if (process.send) process.send(message, () => resolve());
    else resolve();
  });
}

const client = (...handlers: Handled[]) => {
  const leasehold = createLeasehold({ database: pg(url), handlers });
  leasehold.on("lost", (event) => void tell({ lost: event }));
  return leasehold;
};

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(ask: () => boolean): Promise<void> {
  while (!ask()) await sleep(5);
}

const mail = defineJob("mail");
const blocks = defineJob("job", { lease: 300 });

const scenarios: Record<string, () => Promise<void>> = {
  /** Runs one job and stops; nothing may keep the process alive then. */
  async ends() {
    const leasehold = client(handle(mail, () => "done"));
    const warnings: string[] = [];
    process.on("warning", ({ message }) => warnings.push(message));
    const worker = leasehold.work({ poll: "1h" });
    await until(() => worker.health().processed === 1 && worker.health().listening);
    const report = await worker.stop();
    await tell({ report, warnings, signals: process.listenerCount("SIGTERM") });
  },

  /** Starts and stops without a pause, many times. */
  async restarts() {
    const leasehold = client(handle(mail, () => "done"));
    for (let i = 0; i < 20; i += 1) await leasehold.work({ poll: "1h" }).stop();
    await tell({ restarted: true });
  },

  /** Its handlers: one obeys the signal, one does not, one ends within the grace. */
  async signalled() {
    const leasehold = client(
      handle(mail, async ({ payload, signal }) => {
        await tell({ running: payload });
        if (payload === "obeys") {
          await new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason));
          });
        }
        if (payload === "ignores") await sleep(60_000);
        if (payload === "ends") await sleep(200);
        return "ended";
      }),
    );
    if (argument === "listens") process.on("SIGTERM", () => tell({ heard: true }));
    const worker = leasehold.work({ grace: argument === "patient" ? "1h" : 600, concurrency: 3 });
    await tell({ report: await worker.ended });
    if (argument === "listens") process.exit(0); // the one that ignores it goes on
  },

  /** Its first job blocks the event loop until the file named by the argument exists (S04). */
  async block() {
    const leasehold = client(
      handle(blocks, async ({ payload }) => {
        if (payload !== "blocks") return "next";
        await tell({ blocking: true });
        while (!existsSync(argument));
        return 1;
      }),
    );
    const worker = leasehold.work({ concurrency: 1, poll: 100 });
    await until(() => worker.health().processed === 2);
    await tell({ report: await worker.stop() });
  },

  /** Many looks and many jobs; what is left of them in memory, and of timers and listeners (S33). */
  async many() {
    const warnings: string[] = [];
    process.on("warning", ({ message }) => warnings.push(message));
    const gc = (globalThis as unknown as { gc(): void }).gc;
    const heap = async () => {
      for (let i = 0; i < 3; i += 1) {
        await sleep(20);
        gc();
      }
      return process.memoryUsage().heapUsed;
    };
    const jobs = (id: number, count: number) =>
      Array.from({ length: count }, (_, i) => ({
        id: `0198a000-0000-7000-8000-${String(id * 100 + i).padStart(12, "0")}`,
        kind: "mail",
        key: null,
        owner: null,
        payload: i,
        attempts: 1,
        max_attempts: 5,
        generation: 1,
        releases: 0,
        budget_releases: 0,
        run_after: "",
        lease_until: "",
        timeout_at: "",
      }));
    let looks = 0;
    let left = 0;
    const claimed = () => {
      looks += 1;
      if (left <= 0) return [];
      left -= 10;
      return jobs(looks, 10);
    };
    const database = {
      schema: "leasehold",
      async call(name: string, _args: Record<string, unknown>) {
        if (name === "worker_beat") return { due: true, next_ms: null, idle_workers: 1 };
        if (name === "claim") return claimed();
        return name === "finish_and_claim" ? [{ finished: null }, ...claimed()] : null;
      },
      listen: async (hooks: { onNotification(payload: string): void }) => {
        const timer = setInterval(() => hooks.onNotification("0 mail"), 0);
        return {
          call: async (name: never, args: never) => database.call(name, args),
          close: async () => clearInterval(timer),
        };
      },
    };
    const echoing = {
      ...database,
      listen: async (hooks: { onNotification(payload: string): void }) => {
        const listening = await database.listen(hooks);
        echoing.call = async (name, args) => {
          if (name === "worker_echo") hooks.onNotification(`echo ${args.p_token}`);
          return database.call(name, args);
        };
        return listening;
      },
    };
    let signalListeners = 0;
    const leasehold = createLeasehold({
      database: echoing as never,
      handlers: [
        handle(mail, ({ signal }) => {
          signalListeners = getEventListeners(signal, "abort").length;
        }),
      ],
    });
    const worker = leasehold.work({ poll: 50 });
    await until(() => worker.health().listening && looks > 30);
    const work = async (count: number) => {
      left = count;
      const goal = worker.health().processed + count;
      await until(() => worker.health().processed >= goal);
    };
    const poll = async (count: number) => {
      const goal = looks + count;
      await until(() => looks >= goal);
    };
    await work(10_000); // warm
    const sizes = [await heap()];
    for (let i = 0; i < 3; i += 1) {
      await work(5_000);
      await poll(40);
      sizes.push(await heap());
    }
    const report = await worker.stop();
    await sleep(10);
    const timers = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    await tell({ sizes, signalListeners, warnings, timers, report, looks });
  },
};

await scenarios[scenario]?.();
