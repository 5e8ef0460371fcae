/**
 * Does a worker that runs for long keep its memory? Runs a million jobs that do nothing through one
 * worker, then an hour's worth of idle polls, and prints the heap after garbage collection on the way.
 *
 *   npm run soak                    on a PostgreSQL of its own
 *   DATABASE_URL=… npm run soak     on yours, in a schema of its own that is dropped afterwards
 *   JOBS=100000 npm run soak        with fewer jobs
 */
import { createLeasehold, defineJob, handle, silentLogger, type Worker } from "leasehold";
import { pg } from "leasehold/pg";
import { migrate } from "leasehold/schema";
import { Pool } from "pg";
import { startPostgres } from "../test/support/postgres-server.ts";

const jobs = Number(process.env.JOBS ?? 1_000_000);
const step = jobs / 10;
const schema = "leasehold_soak";
const noop = defineJob("noop", { retain: "1m" });

const server = process.env.DATABASE_URL ? undefined : await startPostgres();
const pool = new Pool({ connectionString: process.env.DATABASE_URL ?? server?.url, max: 4 });
await pool.query(`drop schema if exists ${schema} cascade`);
const database = pg(pool, { schema });
await migrate(database);
let done = 0;
const handlers = [
  handle(noop, () => {
    done += 1;
  }),
];
const leasehold = createLeasehold({ database, handlers, logger: silentLogger });

try {
  await busy(leasehold.work({ concurrency: 200 }));
  await idle(leasehold.work({ poll: 50, idlePoll: 50 }));
} finally {
  await leasehold.close();
  await pool.query(`drop schema ${schema} cascade`);
  await pool.end();
  await server?.stop();
}

/** Never more than two steps ahead of the worker. */
async function busy(worker: Worker): Promise<void> {
  const heaps: number[] = [];
  let enqueued = 0;
  let since = performance.now();
  for (let target = step; target <= jobs; target += step) {
    while (enqueued < Math.min(target + step, jobs)) {
      await leasehold.enqueueMany(Array.from({ length: 5_000 }, () => ({ job: noop })));
      enqueued += 5_000;
    }
    while (done < target) await pause(10);
    heaps.push(heapMb());
    const rate = Math.round(step / ((performance.now() - since) / 1_000));
    since = performance.now();
    console.log(`${target} jobs, ${rate} jobs/s with their enqueues: heap ${shown(heaps)}`);
  }
  await worker.stop();
  console.log(`grown over the last nine tenths: ${grown(heaps)}`);
}

/** 720 polls: an hour of one every 5 seconds, one every 50 ms here. */
async function idle(worker: Worker): Promise<void> {
  const heaps: number[] = [];
  for (let i = 0; i < 6; i += 1) {
    await pause(120 * 52);
    heaps.push(heapMb());
    console.log(`${(i + 1) * 120} polls: heap ${shown(heaps)}`);
  }
  await worker.stop();
  console.log(`grown: ${grown(heaps)}`);
}

function heapMb(): number {
  if (globalThis.gc === undefined)
    throw new Error("Run node with --expose-gc, as npm run soak does.");
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed / 1e6;
}

function shown(heaps: readonly number[]): string {
  return `${heaps.at(-1)?.toFixed(2)} MB`;
}

function grown(heaps: readonly number[]): string {
  return `${((heaps.at(-1) ?? 0) - (heaps[0] ?? 0)).toFixed(2)} MB`;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
