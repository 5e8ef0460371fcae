import { setTimeout as rest, setImmediate as turn } from "node:timers/promises";
import { tell, word } from "../../support/reports.ts";
import type { Deed, WorkJob } from "./work.ts";

/** What a job of these functions can do, in the ways in which handlers behave. */
export const deeds: Record<Deed, (job: WorkJob) => Promise<unknown>> = {
  /** Takes `ms` milliseconds, and stops when it is told to. */
  async rests({ payload, signal }: WorkJob) {
    await rest(payload.ms, undefined, { signal });
    return "rested";
  },

  /** Takes `times` durable steps of `ms` each. */
  async steps(job: WorkJob) {
    const { times, ms } = job.payload;
    const by: number[] = [];
    for (let i = 0; i < times; i += 1) {
      const step = async () => {
        await rest(ms, undefined, { signal: job.signal });
        return job.generation;
      };
      by.push(await job.step(`step ${i}`, step));
    }
    return by;
  },

  /** Never ends by itself. */
  async endless({ signal }: WorkJob) {
    await rest(2 ** 31 - 1, undefined, { signal });
  },

  /** Never ends, and hears nothing. */
  async deaf() {
    await new Promise(() => setInterval(() => undefined, 1_000));
  },

  /** Never ends, hears nothing, and leaves the process little time for anything else. */
  async blocks({ payload }: WorkJob) {
    for (;;) {
      const end = performance.now() + payload.ms;
      while (performance.now() < end);
      await turn();
    }
  },

  /** Tells that it is in its middle, and waits for the word `<id>.<generation>`, whatever happens. */
  async waits({ id, generation }: WorkJob) {
    const heard = word(`${id}.${generation}`);
    await tell({ type: "middle", id });
    await heard;
    await tell({ type: "goes on", id });
    return generation;
  },

  /** The same, and writes its effect together with its completion. */
  async writes(job: WorkJob) {
    await deeds.waits(job);
    return job.transaction(async (client: { query(sql: string, values: unknown[]): unknown }) => {
      await client.query("insert into public.effects values ($1, $2)", [job.id, job.generation]);
      return job.generation;
    });
  },
};
