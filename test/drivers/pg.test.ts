import { setTimeout as later } from "node:timers/promises";
import nodePostgres from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Database, DatabaseTransaction } from "../../src/database.ts";
import { type PgPoolLike, pg } from "../../src/pg/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

let db: TestDatabase;
let pool: nodePostgres.Pool;
let database: Required<Database>;

const warnings: Error[] = [];
const onWarning = (warning: Error): void => void warnings.push(warning);

beforeAll(async () => {
  db = await openTestDatabase("postgres");
  process.on("warning", onWarning);
});
afterAll(async () => {
  process.off("warning", onWarning);
  await db.close();
});
beforeEach(async () => {
  await db.reset();
  warnings.length = 0;
});

/** A pool of two, as an application would make it, closed when the test ends. */
async function withPool(
  test: () => Promise<void>,
  options: nodePostgres.PoolConfig = {},
): Promise<void> {
  const config = { connectionString: db.url, max: 2, application_name: "app", ...options };
  pool = new nodePostgres.Pool(config);
  database = pg(pool);
  try {
    await test();
  } finally {
    await pool.end();
  }
}

const enqueue = (to: Pick<Database, "call">): Promise<unknown> =>
  to.call("enqueue", { p_kind: "k" });

const jobs = (): Promise<number> => db.value("select count(*) from leasehold.jobs");

const backends = (name: string): Promise<number> =>
  db.value(
    "select count(*) from pg_stat_activity where application_name = $1 and datname = current_database()",
    [name],
  );

/** Ends sessions as a restart of the server would, and waits until they are gone. */
async function terminate(pid?: number): Promise<void> {
  await db.query(
    "select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = 'app' and datname = current_database() and pid = coalesce($1, pid)",
    [pid ?? null],
  );
}

const pidOf = async (tx: DatabaseTransaction): Promise<number> =>
  (await (tx.client as nodePostgres.PoolClient).query("select pg_backend_pid() as pid")).rows[0]
    .pid;

/** Until the driver has read what the server wrote before it hung up. */
async function until(condition: () => boolean): Promise<void> {
  await vi.waitUntil(condition, { timeout: 10_000, interval: 1 });
}

describe("a lost connection", () => {
  it("that was idle ends neither the process nor the pool, and is told of once (S25)", () =>
    withPool(async () => {
      await Promise.all([enqueue(database), enqueue(database)]);
      await terminate();
      await until(() => pool.totalCount === 0);
      await enqueue(database);
      expect(await jobs()).toBe(3);
      await until(() => warnings.length > 0);
      expect(warnings).toMatchObject([{ code: "LEASEHOLD_CONNECTION_LOST" }]);
    }));

  it("is left to the application where it listens itself", () =>
    withPool(async () => {
      const heard: Error[] = [];
      pool.on("error", (error) => heard.push(error));
      await enqueue(database);
      await terminate();
      await until(() => heard.length === 1);
      expect(warnings).toEqual([]);
    }));

  it("rejects the transaction that was open, and the next one works (S25)", () =>
    withPool(async () => {
      const lost = database.transaction(async (tx) => {
        await enqueue(tx);
        await terminate(await pidOf(tx));
        await enqueue(tx);
      });
      await expect(lost).rejects.toMatchObject({ code: "57P01" }); // why it was lost
      expect(pool.totalCount).toBe(0); // the broken client was not given back
      await database.transaction(enqueue);
      expect(await jobs()).toBe(1);
    }));

  it("while the transaction awaits something else is noticed at the commit", () =>
    withPool(async () => {
      const lost = database.transaction(async (tx) => {
        await enqueue(tx);
        const gone = new Promise((resolve) => {
          (tx.client as nodePostgres.PoolClient).once("end", resolve);
        });
        await terminate(await pidOf(tx));
        await gone;
      });
      await expect(lost).rejects.toMatchObject({ code: "57P01" });
      await enqueue(database);
      expect(await jobs()).toBe(1);
    }));

  it("in the middle of a call rejects that call alone", () =>
    withPool(async () => {
      const blocker = await db.connect();
      await blocker.begin();
      await blocker.query("lock table leasehold.jobs");
      const stuck = enqueue(database).catch((error: Error) => error);
      await vi.waitFor(async () => {
        const waiting =
          "application_name = 'app' and datname = current_database() and wait_event_type = 'Lock'";
        expect(await db.value(`select count(*) from pg_stat_activity where ${waiting}`)).toBe(1);
      });
      await terminate();
      expect(await stuck).toMatchObject({ code: "57P01" });
      await blocker.rollback();
      await enqueue(database);
      expect(await jobs()).toBe(1);
    }));
});

describe("listeners on the application's pool", () => {
  it("are one, however often the pool is used (S25)", () =>
    withPool(async () => {
      for (let i = 0; i < 20; i++) await enqueue(pg(pool));
      for (let i = 0; i < 20; i++) await pg(pool).transaction(enqueue);
      expect(pool.listenerCount("error")).toBe(1);
      const client = await pool.connect();
      expect(client.listenerCount("error")).toBe(0);
      client.release();
      await later(0); // warnings come a tick later
      expect(warnings).toEqual([]);
    }));

  it("are one, even when the module is evaluated again", () =>
    withPool(async () => {
      for (let i = 0; i < 3; i++) {
        vi.resetModules();
        const copy = await import("../../src/pg/index.ts");
        expect(copy.pg).not.toBe(pg);
        await enqueue(copy.pg(pool));
      }
      expect(pool.listenerCount("error")).toBe(1);
    }));
});

describe("the application's pool", () => {
  it("stays open after close()", () =>
    withPool(async () => {
      await database.close();
      await enqueue(database);
      expect(pool.ended).toBe(false);
    }));

  it("may read its types as it likes", () =>
    withPool(
      async () => {
        const { id } = (await enqueue(database)) as { id: string };
        expect(await database.call("claim", { p_kinds: ["k"] })).toMatchObject([
          { id, attempts: 1, payload: {} },
        ]);
        expect(await database.call("complete", { p_id: id, p_generation: 1 })).toBe(true);
      },
      { types: { getTypeParser: () => (text: string) => `own ${text}` } as never },
    ));

  it("of one connection is enough for a transaction and calls beside it (S26)", () =>
    withPool(
      async () => {
        const all = Array.from({ length: 10 }, () => [
          database.transaction(enqueue),
          enqueue(database),
        ]);
        await Promise.all(all.flat());
        expect(await jobs()).toBe(20);
      },
      { max: 1 },
    ));
});

describe("a pool of leasehold's own", () => {
  it("is opened by the first call and closed by close()", async () => {
    const own = pg(db.url);
    expect(await backends("leasehold")).toBe(0);
    await enqueue(own);
    expect(await backends("leasehold")).toBe(1);
    await own.close();
    await vi.waitFor(async () => expect(await backends("leasehold")).toBe(0));
    await expect(enqueue(own)).rejects.toMatchObject({ code: "LH107" });
    await own.close();
  });

  it("is one of four connections for all who give the same options, until the last closes", async () => {
    const copies: Required<Database>[] = [];
    for (let i = 0; i < 20; i++) {
      vi.resetModules();
      const copy = await import("../../src/pg/index.ts");
      copies.push(copy.pg({ connectionString: db.url }));
    }
    await Promise.all(copies.flatMap((copy) => [enqueue(copy), enqueue(copy)]));
    expect(await backends("leasehold")).toBeLessThanOrEqual(4);
    await Promise.all(copies.slice(1).map((copy) => copy.close()));
    await enqueue(copies[0] as Database);
    expect(await backends("leasehold")).toBeGreaterThan(0);
    await copies[0]?.close();
    await vi.waitFor(async () => expect(await backends("leasehold")).toBe(0));
  });

  it("takes node-postgres' options over its own", async () => {
    const url = new URL(db.url);
    const own = pg({
      host: url.hostname,
      port: Number(url.port),
      user: url.username,
      database: url.pathname.slice(1),
      application_name: "named",
      max: 1,
    });
    await Promise.all([enqueue(own), enqueue(own)]);
    expect(await backends("named")).toBe(1);
    await own.close();
  });

  it("tries again after it could not connect", async () => {
    const own = pg({ connectionString: "postgres://127.0.0.1:1/none" });
    await expect(enqueue(own)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await expect(enqueue(own)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await own.close();
  });
});

describe("pg()", () => {
  it("refuses a single client, and says where it belongs", () =>
    withPool(async () => {
      const client = await pool.connect();
      for (const single of [client, new nodePostgres.Client()]) {
        expect(() => pg(single as never)).toThrow(/a single client.*Pass the Pool.*\{ tx \}/);
      }
      client.release();
    }));

  it.each([undefined, null, 7, {}, { query: () => undefined }, () => undefined])(
    "refuses %s and lists what it takes",
    (value) => {
      const error = (() => {
        try {
          return pg(value as never);
        } catch (thrown) {
          return thrown;
        }
      })();
      expect(error).toMatchObject({ name: "DatabaseError", code: "LH107" });
      expect(String(error)).toMatch(/Pool, a connection string .*or node-postgres options/);
    },
  );

  it("shows no password of a connection string that it refuses", () => {
    expect(() => pg("mysql://root:secret@host/db")).toThrow(/begins with "mysql:"/);
    expect(() => pg("mysql://root:secret@host/db")).not.toThrow(/secret/);
    const options = { connectionString: "mysql://root:secret@host/db" };
    expect(() => pg(options)).toThrow(/begins with "mysql:"/);
    expect(() => pg("secret")).not.toThrow(/secret/);
  });

  it("takes node-postgres' pool and what looks like one, by its types", () => {
    const like: PgPoolLike = new nodePostgres.Pool({ max: 1 });
    expect(pg(like).schema).toBe("leasehold");
    expect(pg(like, { schema: "jobs" }).schema).toBe("jobs");
  });
});
