import nodePostgres from "pg";
import postgresJs from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Database, Listening } from "../../src/database.ts";
import { pg } from "../../src/pg/index.ts";
import { pglite } from "../../src/pglite/index.ts";
import { postgres } from "../../src/postgres/index.ts";
import { migrate } from "../../src/schema/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

/** No driver may take part of it for syntax of its own. */
const oddSchema = `We"ird näme ${"$"}1?`;

let db: TestDatabase;
let embedded: TestDatabase;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  db = await openTestDatabase("postgres");
  await migrate(pg(db.pool, { schema: oddSchema }));
  embedded = await openTestDatabase("pglite");
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(async () => {
  await embedded.close();
  await db.close();
});

interface Options {
  schema?: string;
  listen?: string | false;
}

/** A database on `url`, closed when the test ends. */
type Open = (options?: Options, url?: string) => Required<Database>;

function closing(database: Required<Database>, close = database.close): Required<Database> {
  closers.push(close);
  return database;
}

const drivers: Record<string, Open> = {
  "pg(pool)": (options, url = db.url) => {
    const pool = new nodePostgres.Pool({ connectionString: url, max: 1 });
    return closing(pg(pool, options), () => pool.end());
  },
  "pg(url)": (options, url = db.url) => closing(pg(url, options)),
  "postgres(sql)": (options, url = db.url) => {
    const sql = postgresJs(url, { max: 1, transform: postgresJs.camel });
    return closing(postgres(sql, options), () => sql.end({ timeout: 1 }));
  },
  "postgres(url)": (options, url = db.url) => closing(postgres(url, options)),
};

/** What a listening connection told, and the connection. */
async function listen(database: Required<Database>) {
  const heard: string[] = [];
  const lost: Error[] = [];
  const hooks = {
    onNotification: (payload: string) => void heard.push(payload),
    onLost: (error: Error) => void lost.push(error),
  };
  const listening = (await database.listen(hooks)) as Listening;
  closers.push(() => listening.close());
  return { heard, lost, listening };
}

const notify = (channel: string, payload: string, on: TestDatabase = db): Promise<unknown> =>
  on.query("select pg_notify($1, $2)", [channel, payload]);

/** Notifications come in the order of their commits, so whatever was sent before came before. */
async function hears(heard: string[], channel: string, on?: TestDatabase): Promise<string[]> {
  await notify(channel, "last", on);
  await vi.waitUntil(() => heard.includes("last"), { timeout: 10_000, interval: 2 });
  return heard;
}

const own = "datname = current_database() and pid <> pg_backend_pid()";
const listeners = `query ilike 'listen %' and ${own}`;

/** Ends the listening session as a restart of the server would. */
async function terminate(): Promise<void> {
  const ended = `select pg_terminate_backend(pid, 10000) from pg_stat_activity where ${listeners}`;
  expect(await db.query(ended)).toHaveLength(1);
}

const listenerCount = (): Promise<number> =>
  db.value(`select count(*) from pg_stat_activity where ${listeners}`);

describe.each(Object.keys(drivers))("a listening connection of %s", (driver) => {
  const open = drivers[driver] as Open;

  it("hears its own schema alone, each payload as it was sent", async () => {
    const { heard, lost } = await listen(open());
    const payload = `ü 漢 👩‍🚀 " \\ ' $1 ${"long ".repeat(500)}`;
    await notify("elsewhere", "not for us");
    await notify("leasehold", payload);
    await notify("leasehold", "");
    expect(await hears(heard, "leasehold")).toEqual([payload, "", "last"]);
    expect(lost).toEqual([]);
  });

  it("listens in a schema of any name", async () => {
    const { heard, listening } = await listen(open({ schema: oddSchema }));
    await notify("leasehold", "not for us");
    expect(await hears(heard, oddSchema)).toEqual(["last"]);
    expect(await listening.call("reap", {})).toBe(0);
  });

  it("makes its calls on that very connection, many at once", async () => {
    const { listening } = await listen(open());
    expect(await listenerCount()).toBe(1);
    const answers = [1, 2, 3].map(() => listening.call("claim", { p_kinds: ["none"] }));
    expect(await Promise.all(answers)).toEqual([[], [], []]);
    expect(await listenerCount()).toBe(0); // its last statement is another now
    await expect(listening.call("claim", { p_kinds: [] })).rejects.toMatchObject({ code: "LH002" });
  });

  it("tells its loss once, and answers no call from then on", async () => {
    const { heard, lost, listening } = await listen(open());
    await terminate();
    await vi.waitUntil(() => lost.length > 0, { timeout: 10_000, interval: 2 });
    await expect(listening.call("reap", {})).rejects.toThrow();
    await expect(listening.call("reap", {})).rejects.toThrow();
    await notify("leasehold", "nobody is there");
    expect(await listenerCount()).toBe(0);
    await listening.close();
    expect(lost).toEqual([expect.any(Error)]);
    expect(heard).toEqual([]);
  });

  it("rejects the calls that its loss finds on their way", async () => {
    const { lost, listening } = await listen(open());
    const blocker = await db.connect();
    await blocker.begin();
    await blocker.query("lock table leasehold.jobs");
    const calls = [1, 2, 3].map(() =>
      listening.call("claim", { p_kinds: ["k"] }).then(
        () => "answered",
        () => "rejected",
      ),
    );
    const waiting = `wait_event_type = 'Lock' and ${own}`;
    await vi.waitUntil(() =>
      db.value(`select count(*) = 1 from pg_stat_activity where ${waiting}`),
    );
    await db.query(
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity where ${waiting}`,
    );
    await blocker.rollback();
    expect(await Promise.all(calls)).toEqual(["rejected", "rejected", "rejected"]);
    await vi.waitUntil(() => lost.length === 1);
  });

  it("tells nothing when it is closed, which can be repeated", async () => {
    const { heard, lost, listening } = await listen(open());
    await Promise.all([listening.close(), listening.close()]);
    await listening.close();
    await vi.waitUntil(async () => (await listenerCount()) === 0);
    await notify("leasehold", "nobody is there");
    await expect(listening.call("reap", {})).rejects.toThrow();
    expect([heard, lost]).toEqual([[], []]);
  });

  it("is there though the pool's one connection is busy", async () => {
    const database = open();
    await database.transaction(async () => {
      const { heard } = await listen(database);
      expect(await hears(heard, "leasehold")).toEqual(["last"]);
    });
  });

  it("goes where `listen` says, and nowhere when that is false", async () => {
    const hooks = { onNotification: () => undefined, onLost: () => undefined };
    expect(await open({ listen: false }).listen(hooks)).toBeNull();
    const dead = "postgres://127.0.0.1:1/none";
    await expect(open({ listen: dead }).listen(hooks)).rejects.toMatchObject({
      code: "ECONNREFUSED",
    });
    const { heard, listening } = await listen(open({ listen: db.url }, dead));
    expect(await hears(heard, "leasehold")).toEqual(["last"]);
    expect(await listening.call("reap", {})).toBe(0);
  });

  it("closes within a second when the other side is gone without a word", async () => {
    const proxy = await startTcpProxy(db.url);
    closers.push(() => proxy.close());
    const { heard, lost, listening } = await listen(open({ listen: proxy.url }));
    expect(await hears(heard, "leasehold")).toEqual(["last"]);
    proxy.fallSilent();
    const call = listening.call("reap", {}).catch(() => "given up");
    const start = performance.now();
    await listening.close();
    expect(performance.now() - start).toBeLessThan(1_000);
    expect(await call).toBe("given up");
    expect(lost).toEqual([]);
    await vi.waitUntil(() => proxy.connections() === 0); // no socket is left to keep a process alive
  });
});

describe("the one session of PGlite", () => {
  it("hears its own schema alone, until it is closed", async () => {
    const { heard, lost, listening } = await listen(pglite(embedded.pglite));
    await notify("elsewhere", "not for us", embedded);
    expect(await hears(heard, "leasehold", embedded)).toEqual(["last"]);
    expect(await listening.call("reap", {})).toBe(0);
    await listening.close();
    await notify("leasehold", "too late", embedded);
    expect([heard, lost]).toEqual([["last"], []]);
  });
});
