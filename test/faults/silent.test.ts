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
])("a worker whose pool falls silent under its jobs' transactions goes on by new connections: $driver", async ({
  open,
}) => {
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
  const leasehold = createLeasehold({
    database: open(proxy.url), // four connections at most
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
    await proxy.close();
    await db.close();
  }
}, 120_000);
