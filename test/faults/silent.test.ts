import { expect, test } from "vitest";
import { createLeasehold, defineJob, handle } from "../../src/index.ts";
import { silentLogger } from "../../src/logger.ts";
import { pg } from "../../src/pg/index.ts";
import { postgres } from "../../src/postgres/index.ts";
import { counts, until } from "../drain/support/client.ts";
import { openTestDatabase } from "../support/databases.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { type EffectClient, writeEffect } from "./support/effects.ts";

const job = defineJob("job", { backoff: [100], lease: "3s", maxAttempts: 50 });

test.concurrent.each([
  { driver: "node-postgres", open: pg },
  { driver: "postgres.js", open: postgres },
])(
  "a worker whose pool falls silent under its jobs' transactions goes on by new connections: $driver",
  async ({ open }) => {
    const db = await openTestDatabase("postgres");
    await db.query("create table public.effects (job_id uuid, generation int)");
    const proxy = await startTcpProxy(db.url);
    let inside = 0;
    let silent = false;
    const work = (own: Parameters<typeof writeEffect>[1]) => async (client: EffectClient) => {
      inside += 1;
      await until(() => silent, "the silence");
      await writeEffect(client, own);
    };
    const database = open(proxy.url); // four connections at most
    const leasehold = createLeasehold({
      database,
      logger: silentLogger,
      handlers: [handle(job, (own) => own.transaction(work(own)))],
    });
    await leasehold.enqueueMany(Array.from({ length: 4 }, () => ({ job })));
    const worker = leasehold.work({ signals: false, concurrency: 8, poll: 200 });
    await until(() => inside === 4, "four jobs in hand, each on a connection");
    // As a host that lost its power, or a firewall that forgot the connections. New ones work.
    proxy.fallSilent();
    silent = true;
    await db.database.call("enqueue", { p_kind: "job" });
    try {
      await until(async () => (await counts(db)).completed === 5, "all five jobs", 90_000);
      expect(await db.value("select count(*)::int from public.effects")).toBe(5);
    } finally {
      await worker.stop({ grace: 0 });
      await leasehold.close();
      await database.close();
      await proxy.close();
      await db.close();
    }
  },
  120_000,
);

test.concurrent("a transaction that takes longer than its lease, on a pool of one, is left alone", async () => {
  const db = await openTestDatabase("postgres");
  await db.query("create table public.effects (job_id uuid, generation int)");
  const over = () =>
    db.value("select lease_until < clock_timestamp() - interval '3 s' from leasehold.jobs");
  const look = (client: EffectClient) => "query" in client && client.query("select 1", []);
  const database = pg({ connectionString: db.url, max: 1 });
  const leasehold = createLeasehold({
    database,
    logger: silentLogger,
    handlers: [
      handle(job, (own) =>
        own.transaction(async (client: EffectClient) => {
          // An idle one would be ended by the server after as long as the lease.
          const overAtLast = async () => {
            await look(client);
            return over();
          };
          await until(overAtLast, "the end of a lease that nobody renews");
          await writeEffect(client, own);
        }),
      ),
    ],
  });
  await leasehold.enqueue(job);
  try {
    expect(await leasehold.drain()).toMatchObject({ completed: 1 });
    expect(await db.query("select attempts, status from leasehold.jobs")).toEqual([
      { attempts: 1, status: "completed" },
    ]);
    expect(
      await db.value("select count(*)::int from leasehold.job_events where event = 'refused'"),
    ).toBe(0);
  } finally {
    await leasehold.close();
    await database.close();
    await db.close();
  }
});
