import nodePostgres from "pg";
import postgresJs from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Database, DatabaseTransaction } from "../../src/database.ts";
import { pg } from "../../src/pg/index.ts";
import { postgres } from "../../src/postgres/index.ts";
import { openInstance } from "../../src/postgres/own-instance.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

let db: TestDatabase;
let proxy: TcpProxy;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
afterAll(() => db.close());
beforeEach(async () => {
  await db.reset();
  proxy = await startTcpProxy(db.url);
  // The clock runs on as it does; `pass` lets it jump.
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "performance"],
    shouldAdvanceTime: true,
  });
});
afterEach(async () => {
  for (const close of closers.splice(0)) await jumpUntil(close());
  vi.useRealTimers();
  await proxy.close();
});

const own = {
  "node-postgres": () => closing(pg({ connectionString: proxy.url, max: 1 })),
  "postgres.js": () => closing(postgres(`${proxy.url}?max=1`)),
};

function closing(database: Required<Database>): Required<Database> {
  closers.push(() => database.close());
  return database;
}

function pooled(options: nodePostgres.PoolConfig = {}): Required<Database> {
  const pool = new nodePostgres.Pool({ connectionString: proxy.url, max: 1, ...options });
  closers.push(() => pool.end());
  return pg(pool);
}

const ask = (database: Pick<Database, "call">) => database.call("has_due_work", {});
const enqueue = (database: Pick<Database, "call">) => database.call("enqueue", { p_kind: "k" });
const jobs = (): Promise<number> => db.value("select count(*) from leasehold.jobs");

/** Lets the clock jump until the promise settles, and answers how it did. */
async function jumpUntil(promise: Promise<unknown>): Promise<unknown> {
  let settled = false;
  const outcome = promise
    .catch((error: unknown) => error)
    .finally(() => {
      settled = true;
    });
  for (let i = 0; i < 100 && !settled; i += 1) await vi.advanceTimersByTimeAsync(1_000);
  return outcome;
}

const waiting = () =>
  db.value(
    `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );

describe.each(Object.entries(own))("a connection of %s that fell silent", (_, open) => {
  it("is given up by a call that waits for nobody, and the next call has a new one", async () => {
    const database = open();
    await ask(database);
    proxy.fallSilent();
    expect(await jumpUntil(ask(database))).toBeInstanceOf(Error);
    expect(await ask(database)).toBe(false);
    await jumpUntil(database.close());
    await vi.waitUntil(() => proxy.connections() === 0, { timeout: 10_000 });
  });

  it("holds up nobody who waits for a lock", async () => {
    const database = open();
    const blocker = await db.connect();
    await blocker.begin();
    await blocker.query("lock table leasehold.jobs");
    let settled = false;
    const enqueued = enqueue(database).finally(() => {
      settled = true;
    });
    await vi.waitUntil(waiting, { timeout: 10_000 });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(settled).toBe(false);
    await blocker.rollback();
    await blocker.close();
    await enqueued;
    expect(await jobs()).toBe(1);
  });
});

describe("a transaction whose connection fell silent", () => {
  const pending = ({ client }: DatabaseTransaction) =>
    client.query ? client.query("select 1") : client.unsafe("select 1");

  it.each<[string, () => Required<Database>]>([
    ...Object.entries(own),
    ["node-postgres' pool", () => pooled({ max: 2 })],
    [
      "an instance of postgres.js of the application's",
      () => {
        const sql = postgresJs(proxy.url, { max: 2 });
        closers.push(() => sql.end({ timeout: 0 }));
        return postgres(sql);
      },
    ],
  ])("rejects once it is abandoned, and the next one works: %s", async (_, open) => {
    const database = open();
    const given = database.transaction(async (tx) => {
      await enqueue(tx);
      proxy.fallSilent();
      const statement = pending(tx).catch((error: unknown) => Promise.reject(error));
      tx.abandon?.();
      await statement;
    });
    await expect(given).rejects.toThrow(/connection/i);
    await database.transaction(enqueue);
    expect(await jobs()).toBe(1);
  });

  it.each(Object.entries(own))("is not to be abandoned after its end: %s", async (_, open) => {
    const database = open();
    let abandon: (() => void) | undefined;
    await database.transaction(async (tx) => {
      abandon = tx.abandon;
      await enqueue(tx);
    });
    const pid = () =>
      db.value(
        "select max(pid) from pg_stat_activity where query ~ 'has_due' and pid <> pg_backend_pid() and datname = current_database()",
      );
    await ask(database);
    const before = await pid();
    abandon?.();
    await ask(database);
    expect(await pid()).toBe(before);
  });

  it.each(Object.entries(own))("keeps no one who closes: %s", async (_, open) => {
    const database = open();
    let statement: Promise<unknown> | undefined;
    const given = database.transaction(async (tx) => {
      await enqueue(tx);
      proxy.fallSilent();
      statement = pending(tx);
      await statement;
    });
    const outcome = given.catch((error: unknown) => error);
    await vi.waitUntil(() => statement !== undefined);
    expect(await jumpUntil(database.close())).toBeUndefined();
    expect(await outcome).toBeInstanceOf(Error);
    await vi.waitUntil(() => proxy.connections() === 0, { timeout: 10_000 });
    expect(await jobs()).toBe(0);
  });

  it.each(Object.entries(own))(
    "and whose function never returns keeps no one who closes: %s",
    async (_, open) => {
      const database = open();
      let begun = false;
      const work = () => {
        begun = true;
        return new Promise<never>(() => undefined);
      };
      database.transaction(work).catch(() => undefined);
      await vi.waitUntil(() => begun, { timeout: 10_000 });
      expect(await jumpUntil(database.close())).toBeUndefined();
      await vi.waitUntil(() => proxy.connections() === 0, { timeout: 10_000 });
    },
  );

  it("as it was to begin rejects, with node-postgres", async () => {
    const database = own["node-postgres"]();
    await ask(database);
    proxy.fallSilent();
    expect(await jumpUntil(database.transaction(enqueue))).toMatchObject({ message: /timeout/ });
    await database.transaction(enqueue);
    expect(await jobs()).toBe(1);
  });
});

describe("a pool of the application's", () => {
  it("keeps the limit that it sets for its statements", async () => {
    const database = pooled({ query_timeout: 90_000 });
    await ask(database);
    proxy.fallSilent();
    let settled = false;
    const asked = ask(database).finally(() => {
      settled = true;
    });
    asked.catch(() => undefined);
    await vi.advanceTimersByTimeAsync(80_000);
    expect(settled).toBe(false);
    expect(await jumpUntil(asked)).toBeInstanceOf(Error);
  });
});

describe("an instance of postgres.js of leasehold's own, when it is replaced", () => {
  it("hands what it had not sent to the new one, to be run once", async () => {
    const database = own["postgres.js"]();
    await ask(database);
    proxy.fallSilent();
    // One with an argument: behind one without, postgres.js sends the next at once.
    const lost = database.call("has_due_work", { p_kinds: ["k"] });
    const queued = enqueue(database);
    expect(await jumpUntil(lost)).toBeInstanceOf(Error);
    await queued;
    expect(await jobs()).toBe(1);
  });

  it("runs nothing again that it had sent", async () => {
    const database = closing(postgres(`${proxy.url}?max=2`));
    await ask(database);
    proxy.fallSilent();
    const lost = database.call("has_due_work", { p_kinds: ["k"] });
    await new Promise(setImmediate); // sent
    const blocker = await db.connect();
    await blocker.begin();
    await blocker.query("lock table leasehold.jobs");
    const enqueued = enqueue(database);
    await vi.waitUntil(waiting, { timeout: 10_000 });
    expect(await jumpUntil(lost)).toBeInstanceOf(Error);
    expect(await jumpUntil(enqueued)).toBeInstanceOf(Error);
    await blocker.rollback();
    await blocker.close();
  });

  it("lets a transaction that is open go on to its end", async () => {
    const database = closing(postgres(`${proxy.url}?max=2`));
    await ask(database);
    proxy.fallSilent();
    const lost = database.call("has_due_work", { p_kinds: ["k"] });
    await new Promise(setImmediate); // sent
    await database.transaction(async (tx) => {
      await enqueue(tx);
      const queued = enqueue(database);
      expect(await jumpUntil(lost)).toBeInstanceOf(Error);
      await queued; // over the new one, while the transaction keeps the old
      expect(await ask(database)).toBe(true);
      await vi.advanceTimersByTimeAsync(600_000);
      await enqueue(tx);
    });
    expect(await jobs()).toBe(3);
  });

  it("takes back a call that was queued too long, and does not run it when its turn comes", async () => {
    const database = own["postgres.js"]();
    const blocker = await db.connect();
    await blocker.begin();
    await blocker.query("lock table leasehold.jobs");
    const enqueued = enqueue(database);
    await vi.waitUntil(waiting, { timeout: 10_000 });
    const queued = database.call("claim", { p_kinds: ["k"] });
    expect(await jumpUntil(queued)).toMatchObject({ message: /did not answer/ });
    await blocker.rollback();
    await blocker.close();
    await enqueued;
    await ask(database);
    expect(await db.value("select status from leasehold.jobs")).toBe("queued");
  });
});

describe("an instance of postgres.js of leasehold's own, after a long outage", () => {
  type Options = { backoff: (failures: number) => number };
  const optionsOf = async (given: Parameters<typeof openInstance>[0]): Promise<Options> => {
    const { value, release } = await openInstance(given);
    closers.push(release);
    return value.sql.options as Options;
  };

  it("connects again within two seconds, and not all at once", async () => {
    const { backoff } = await optionsOf(proxy.url);
    expect(backoff(0)).toBeLessThanOrEqual(0.01);
    const waits = Array.from({ length: 100 }, (_, failures) => backoff(failures + 5));
    expect(Math.max(...waits)).toBeLessThanOrEqual(2);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1);
    expect(new Set(waits).size).toBeGreaterThan(50);
  });

  it("waits as its options say", async () => {
    const backoff = () => 7;
    expect((await optionsOf({ host: "127.0.0.1", backoff })).backoff).toBe(backoff);
  });
});
