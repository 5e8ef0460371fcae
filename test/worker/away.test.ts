import nodePostgres from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { createLeasehold, defineJob, handle } from "../../src/index.ts";
import { pg } from "../../src/pg/index.ts";
import { migrate } from "../../src/schema/index.ts";
import { client, counts, until } from "../drain/support/client.ts";
import { interposed } from "../drain/support/interposed.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { keptLog } from "./support/log.ts";
import { restartableServer } from "./support/restartable.ts";
import { countOf, never, pass, testApart, watched, workplace } from "./support/workers.ts";

const job = defineJob("job", { backoff: [0], lease: "1m" });
const many = (count: number) => Array.from({ length: count }, (_, payload) => ({ job, payload }));

const lost = "the listening connection is lost; the worker polls until it is back";
const away = "the database can't be asked; trying again";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

test("a server that crashes in the middle of jobs and comes back: all complete, none twice", async () => {
  const server = await restartableServer();
  closers.push(() => server.stop());
  const pool = new nodePostgres.Pool({ connectionString: server.url, max: 6 });
  pool.on("error", () => undefined);
  closers.push(() => pool.end());
  const database = pg(pool);
  await migrate(database);
  await pool.query("create table runs (payload int, generation int)");
  const log = keptLog();
  let running = 0;
  const leasehold = createLeasehold({
    database,
    logger: log,
    handlers: [
      handle(job, async (own) => {
        running += 1;
        await pass(20);
        await own.transaction((tx) =>
          tx.query("insert into runs values ($1, $2)", [own.payload, own.generation]),
        );
      }),
    ],
  });
  await leasehold.enqueueMany(many(60).map((each) => ({ ...each, maxAttempts: 20 })));
  const worker = leasehold.work({ concurrency: 4, poll: 200, signals: false });
  await until(() => running > 10 && worker.health().listening, "jobs under way");
  await server.crash();
  await until(() => worker.health().error, "the outage");
  expect(worker.health()).toMatchObject({ ready: false, listening: false });
  await pass(1_000);
  await server.startAgain();
  await until(() => worker.health().processed >= 60 && worker.health().running === 0, "the end");
  const completed = "select count(*)::int as n from leasehold.jobs where status = 'completed'";
  await until(async () => (await pool.query(completed)).rows[0].n === 60, "all completed");
  await until(() => worker.health().listening && worker.health().ready, "all well");
  const runs = "select count(*)::int as n, count(distinct payload)::int as jobs from runs";
  expect((await pool.query(runs)).rows).toEqual([{ n: 60, jobs: 60 }]);
  expect(log.warned.filter((text) => text === away)).toHaveLength(1);
  expect(log.warned.filter((text) => text === lost)).toHaveLength(1);
  await worker.stop();
});

describe("a worker on a server", () => {
  const place = workplace("postgres");
  const listening = (): Promise<number> =>
    place.db.value(
      `select count(*)::int from pg_stat_activity
       where datname = current_database() and query ilike 'listen %'`,
    );

  test("whose connections are all ended, five times, goes on, and listens once (S25)", async () => {
    const admin = await place.db.connect();
    const log = keptLog();
    const leasehold = createLeasehold({
      database: place.db.database,
      logger: log,
      handlers: [handle(job, () => pass(5))],
    });
    const worker = place.work(leasehold, { poll: 100, concurrency: 4 });
    for (let i = 1; i <= 5; i += 1) {
      await leasehold.enqueueMany(many(20));
      await until(() => worker.health().listening, "listening");
      await admin.query(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`,
      );
      await until(() => log.warned.filter((text) => text === lost).length === i, "the loss");
    }
    await until(async () => (await counts(place.db)).completed === 100, "all");
    await until(() => worker.health().listening, "listening");
    // Told once each, and no more than once for what the pool lost meanwhile.
    expect(log.warned.filter((text) => text === lost)).toHaveLength(5);
    expect(log.warned.length).toBeLessThanOrEqual(10);
    const ears = `select count(*)::int from pg_stat_activity
      where datname = current_database() and pid = (select listener from leasehold.workers)`;
    await until(async () => (await admin.value(ears)) === 1, "its row says so");
    await worker.stop();
    await until(async () => (await listening()) === 0, "no listener left");
  });

  test("whose connection dies inside a job's transaction does the job again, and once", async () => {
    await place.db.query("create table if not exists writes (generation int)");
    const leasehold = client(
      place.db.database,
      handle(job, (own) =>
        own.transaction(async (tx) => {
          await tx.query("insert into writes values ($1)", [own.generation]);
          if (own.generation === 1) await tx.query("select pg_terminate_backend(pg_backend_pid())");
        }),
      ),
    );
    await leasehold.enqueue(job);
    place.work(leasehold, { poll: 100, concurrency: 1 });
    await until(async () => (await counts(place.db)).completed === 1, "completed");
    expect(await place.db.query("select generation from writes")).toEqual([{ generation: 2 }]);
  });
});

describe.concurrent("a worker", () => {
  testApart(
    "postgres",
    "whose listening connection falls silent notices, polls, and listens anew (S24)",
    async (place) => {
      const proxy = await startTcpProxy(place.db.url);
      const log = keptLog();
      const pool = place.db.pool;
      const leasehold = createLeasehold({
        database: pg(pool, { listen: proxy.url }),
        logger: log,
        handlers: [handle(job, () => undefined)],
      });
      const worker = await place.idle(leasehold, { poll: 200 });
      proxy.fallSilent();
      await leasehold.enqueue(job);
      await until(async () => (await counts(place.db)).completed === 1, "a job meanwhile");
      await until(() => log.warned.includes(lost), "the loss");
      await until(() => worker.health().listening, "listening anew");
      await leasehold.enqueue(job);
      await until(async () => (await counts(place.db)).completed === 2, "another job");
      expect(log.warned).toEqual([lost]);
      expect(log.informed).toEqual(["listening for new jobs again"]);
      await proxy.close();
    },
  );

  testApart(
    "postgres",
    "that hears nothing, as through a pooler, polls and says once what to do",
    async (place) => {
      const log = keptLog();
      const deaf = watched({
        ...place.db.database,
        listen: async () => ({
          call: place.db.database.call,
          close: async () => undefined,
        }),
      });
      const leasehold = createLeasehold({
        database: deaf,
        logger: log,
        handlers: [handle(job, () => undefined)],
      });
      const worker = place.work(leasehold, { poll: 200 });
      await until(() => log.warned.length > 0, "a warning");
      expect(log.warned).toEqual([expect.stringMatching(/do not arrive.*`listen`/s)]);
      await leasehold.enqueue(job);
      await until(async () => (await counts(place.db)).completed === 1, "the job");
      expect(worker.health()).toMatchObject({ listening: false, ready: true });
      expect(countOf(deaf, "worker_echo")).toBe(1);
      expect(deaf.seen.filter(({ by }) => by === "listener")).toEqual([]);
    },
  );

  testApart(
    "postgres",
    "that can't listen polls, with one warning however often it tries",
    async (place) => {
      const log = keptLog();
      let tries = 0;
      const leasehold = createLeasehold({
        database: {
          ...place.db.database,
          listen: async () => {
            tries += 1;
            throw new Error("no way there");
          },
        },
        logger: log,
        handlers: [handle(job, () => undefined)],
      });
      place.work(leasehold, { poll: 100 });
      await leasehold.enqueue(job);
      await until(async () => (await counts(place.db)).completed === 1, "the job");
      await until(() => tries >= 3, "three tries");
      expect(log.warned).toEqual(["can't listen for new jobs; the worker polls until it can"]);
    },
  );

  testApart(
    "postgres",
    "whose claims fail while its beats do not says so once, and is not ready",
    async (place) => {
      const log = keptLog();
      let broken = true;
      const database = interposed(place.db.database, async (call) => {
        if (broken && call.name === "claim") throw new Error("claims are out of order");
        return call.go();
      });
      const leasehold = createLeasehold({
        database,
        logger: log,
        handlers: [handle(job, () => undefined)],
      });
      await leasehold.enqueue(job);
      const worker = place.work(leasehold, { poll: 50, listen: false });
      await until(() => database.calls.filter((name) => name === "claim").length > 3, "tries");
      worker.health();
      expect(worker.health()).toMatchObject({ ready: false, error: "claims are out of order" });
      expect(log.warned).toEqual([away]);
      broken = false;
      await until(() => worker.health().processed === 1, "the job");
      expect(log.informed).toEqual(["the database answers again"]);
      expect(worker.health()).toMatchObject({ ready: true });
    },
  );

  testApart(
    "postgres",
    "reconnects soon after a loss, however long it could not connect before",
    async (place) => {
      let refuse = 3;
      const lose: (() => void)[] = [];
      const at: number[] = [];
      const { database } = place.db;
      const leasehold = client(
        {
          ...database,
          async listen(hooks) {
            at.push(performance.now());
            refuse -= 1;
            if (refuse >= 0) throw new Error("not yet");
            lose.push(() => hooks.onLost(new Error("lost")));
            return database.listen(hooks);
          },
        },
        handle(job, () => undefined),
      );
      const worker = place.work(leasehold, never);
      await until(() => worker.health().listening, "the fourth try");
      const losing = performance.now();
      lose[0]?.();
      await until(() => at.length === 5, "the next");
      expect((at[4] ?? 0) - losing).toBeLessThan(4_000);
    },
  );
});
