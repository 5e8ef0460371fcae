/**
 * A process of its own that asks for values as its parent says. Arguments: the scenario, the
 * database's URL, and one argument of the scenario's own.
 */
import { getEventListeners } from "node:events";
import { createLeasehold, defineJob } from "../../../src/index.ts";
import { pg } from "../../../src/pg/index.ts";

const [scenario = "", url = "", argument = ""] = process.argv.slice(2);

const tell = (message: object) => process.send?.(message);

/** Waits for the parent's word. */
const word = () => new Promise((resolve) => process.once("message", resolve));

/** A client that tells when the database has answered its question for a value. */
function client() {
  const database = pg(url);
  let answered = false;
  const leasehold = createLeasehold({
    database: {
      ...database,
      async call(name, args) {
        const answer = await database.call(name, args);
        if (name === "cache_begin" && !answered) {
          answered = true;
          tell({ answered });
        }
        return answer;
      },
    },
    housekeeping: false,
  });
  return leasehold;
}

const shared = { ttl: "1h", shared: { lease: argument || "1m" } } as const;

const scenarios: Record<string, () => Promise<void>> = {
  /** Asks 25 times at once; its load, should it be called, ends at the parent's second word. */
  async share() {
    const leasehold = client();
    let loads = 0;
    // Why one would load by itself.
    const errors: string[] = [];
    leasehold.on("error", ({ error }) => errors.push(String(error)));
    await leasehold.status("0198a0b4-0000-7000-8000-000000000000"); // the driver is loaded here
    tell({ ready: true });
    await word();
    const second = word();
    const load = async () => {
      loads += 1;
      await second;
      return { by: process.pid };
    };
    const asked = Array.from({ length: 25 }, () => leasehold.singleFlight("k", shared, load));
    const values = await Promise.all(asked);
    await second;
    await leasehold.close();
    tell({ done: { loads, values, errors } });
  },

  /** Begins a load that never ends. */
  async hangs() {
    await client().singleFlight("k", shared, () => {
      tell({ loading: true });
      return word();
    });
  },

  /** Begins a load that fails at the parent's word. */
  async fails() {
    const asked = client().singleFlight("k", shared, async () => {
      tell({ loading: true });
      await word();
      throw new Error("broken");
    });
    await asked.catch((error: Error) => tell({ failed: error.message }));
  },

  /** Does a little of everything, closes nothing and has no more to do. */
  async ends() {
    const leasehold = createLeasehold({ database: pg(url) });
    await leasehold.singleFlight("own", { ttl: "1h" }, () => 1);
    await leasehold.singleFlight("shared", { ttl: "1h", shared: true }, () => 1);
    leasehold.sweep("mine", "1h", () => undefined);
    await leasehold.enqueue(defineJob("job"));
    tell({ done: true });
  },

  /** Many keys, kept and not kept, with one signal for all (S33). */
  async many() {
    const leasehold = createLeasehold({ database: pg(url) });
    const controller = new AbortController();
    const { signal } = controller;
    const warnings: string[] = [];
    process.on("warning", ({ message }) => warnings.push(message));
    let n = 0;
    const heapAfter = async (keys: number) => {
      for (const end = n + keys; n < end; n += 1) {
        const load = () => [`value ${n}`, n];
        await leasehold.singleFlight(`kept ${n}`, { ttl: "1h", signal }, load);
        await leasehold.singleFlight(`not kept ${n}`, { signal }, load);
      }
      globalThis.gc?.();
      return process.memoryUsage().heapUsed;
    };
    const before = await heapAfter(10_000);
    const after = await heapAfter(50_000);
    const listeners = getEventListeners(signal, "abort").length;
    tell({ done: { grownBytes: after - before, listeners, warnings } });
  },
};

await scenarios[scenario]?.();
if (process.connected) process.disconnect();
