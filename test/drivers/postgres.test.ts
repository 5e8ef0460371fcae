import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import postgresJs from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Database } from "../../src/database.ts";
import { type PostgresLike, postgres } from "../../src/postgres/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
afterAll(() => db.close());
beforeEach(() => db.reset());

type Options = postgresJs.Options<Record<string, postgresJs.PostgresType>>;

/** An instance as an application would make it, closed when the test ends. */
async function withSql(
  options: Options,
  test: (sql: postgresJs.Sql, database: Required<Database>) => Promise<void>,
): Promise<void> {
  const sql = postgresJs(db.url, {
    max: 2,
    connection: { application_name: "app" },
    ...options,
  }) as postgresJs.Sql;
  try {
    await test(sql, postgres(sql));
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const enqueue = (to: Pick<Database, "call">): Promise<unknown> =>
  to.call("enqueue", { p_kind: "k", p_payload: { snake_case: [1n.toString()] } });

const jobs = (): Promise<number> => db.value("select count(*) from leasehold.jobs");

const backends = (name: string): Promise<number> =>
  db.value(
    "select count(*) from pg_stat_activity where application_name = $1 and datname = current_database()",
    [name],
  );

const terminate = (pid: number): Promise<unknown> =>
  db.query("select pg_terminate_backend($1, 10000)", [pid]);

describe("an instance of the application's", () => {
  const loud = { from: (text: unknown) => `own ${text}` };
  const own = (from: number[]): postgresJs.PostgresType => ({
    to: 0,
    from,
    serialize: String,
    parse: (text: unknown) => ({ own: text }),
  });
  const habits: Record<string, Options> = {
    "camel-case names": { transform: postgresJs.camel },
    "names, values and rows of its own making": {
      transform: {
        undefined: null,
        column: { from: (name) => name.toUpperCase(), to: (name) => name.toLowerCase() },
        value: loud,
        row: {
          from: (row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [`_${k}`, v])),
        },
      },
    },
    "parsers of its own": {
      types: { all: own([16, 20, 21, 23, 25, 114, 2950, 3802, 1184]) },
      fetch_types: false,
    },
    "named statements and debugging": { prepare: true, debug: () => undefined },
  };

  it.each(Object.keys(habits))("may have %s: the answers are the same", (habit) =>
    withSql(habits[habit] ?? {}, async (_sql, database) => {
      const { id } = (await enqueue(database)) as { id: string };
      const [job] = (await database.call("claim", { p_kinds: ["k"] })) as Record<string, unknown>[];
      expect(job).toMatchObject({ id, attempts: 1, max_attempts: 5, key: null });
      expect(job).toMatchObject({
        payload: { snake_case: ["1"] },
        lease_until: expect.any(String),
      });
      expect(await database.call("complete", { p_id: id, p_generation: 1 })).toBe(true);
      expect(await database.call("reap", {})).toBe(0);
      expect(await database.call("status", { p_id: crypto.randomUUID() })).toBeNull();
      expect(await database.transaction((tx) => tx.call("has_due_work", {}))).toBe(false);
    }),
  );

  it("stays open after close(), and no statement of leasehold's is named", () =>
    withSql({ max: 1, fetch_types: false }, async (sql, database) => {
      await enqueue(database);
      await database.close();
      await enqueue(database);
      expect(await sql.unsafe("select statement from pg_prepared_statements")).toEqual([]);
    }));

  it("of one connection is enough for transactions and calls beside them", () =>
    withSql({ max: 1 }, async (_sql, database) => {
      const all = Array.from({ length: 10 }, () => [
        database.transaction(enqueue),
        enqueue(database),
      ]);
      await Promise.all(all.flat());
      expect(await jobs()).toBe(20);
    }));
});

describe("a transaction", () => {
  it("hands its scoped sql to the function, savepoints included", () =>
    withSql({}, async (_sql, database) => {
      await database.transaction(async (tx) => {
        const client = tx.client as postgresJs.TransactionSql;
        const failed = client.savepoint((inner) => inner`select 1 / 0`);
        await expect(failed).rejects.toMatchObject({ code: "22012" });
        await enqueue(tx);
      });
      expect(await jobs()).toBe(1);
    }));

  it("that fails at its commit keeps that error", () =>
    withSql({}, async (sql, database) => {
      await sql`create table late (n int unique deferrable initially deferred)`;
      const failed = database.transaction(async (tx) => {
        await (tx.client as postgresJs.TransactionSql)`insert into late values (1), (1)`;
        await enqueue(tx);
      });
      await expect(failed).rejects.toMatchObject({ code: "23505" });
      expect(await jobs()).toBe(0);
    }));

  it("hands on the function's own error, not that of an earlier statement", () =>
    withSql({}, async (_sql, database) => {
      const failed = database.transaction(async (tx) => {
        await tx.call("claim", { p_kinds: [] }).catch(() => undefined);
        await tx.call("reap", {});
      });
      await expect(failed).rejects.toMatchObject({ code: "25P02" });
    }));

  it("whose connection is lost while it awaits something else rejects, and ends no process (S25)", () =>
    withSql({ max: 1 }, async (_sql, database) => {
      let finish = (): void => undefined;
      const finished = new Promise<void>((resolve) => {
        finish = resolve;
      });
      let late: Promise<unknown> | undefined;
      const lost = database.transaction(async (tx) => {
        await enqueue(tx);
        const pid = (tx.client as postgresJs.TransactionSql)`select pg_backend_pid() as pid`;
        await terminate((await pid)[0]?.pid);
        await finished;
        late = enqueue(tx);
        await late.catch(() => undefined);
      });
      await expect(lost).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
      finish();
      await vi.waitUntil(() => late !== undefined);
      await expect(late).rejects.toMatchObject({ code: "LH107" });
      await enqueue(database); // on a new connection, and in no one's transaction
      expect(await jobs()).toBe(1);
    }));

  it("whose connection is lost in the middle of a statement rejects", () =>
    withSql({}, async (_sql, database) => {
      const lost = database.transaction(async (tx) => {
        const client = tx.client as postgresJs.TransactionSql;
        await client`select pg_terminate_backend(pg_backend_pid())`;
      });
      await expect(lost).rejects.toMatchObject({ code: expect.stringMatching(/^(57P01|CONN)/) });
      await database.transaction(enqueue);
      expect(await jobs()).toBe(1);
    }));
});

describe("an instance of leasehold's own", () => {
  it("is opened by the first call and closed by close()", async () => {
    const own = postgres(db.url);
    expect(await backends("leasehold")).toBe(0);
    await enqueue(own);
    expect(await backends("leasehold")).toBe(1);
    await own.close();
    await vi.waitFor(async () => expect(await backends("leasehold")).toBe(0));
    await expect(enqueue(own)).rejects.toMatchObject({ code: "LH107" });
  });

  it("is one of four connections for all who give the same, until the last closes", async () => {
    const copies: Required<Database>[] = [];
    for (let i = 0; i < 10; i++) {
      vi.resetModules();
      const copy = await import("../../src/postgres/index.ts");
      copies.push(copy.postgres(i % 2 === 0 ? db.url : partsOf(db.url)));
    }
    await Promise.all(copies.flatMap((copy) => [enqueue(copy), enqueue(copy)]));
    expect(await backends("leasehold")).toBeLessThanOrEqual(8); // four by URL, four by its parts
    await Promise.all(copies.slice(1).map((copy) => copy.close()));
    await enqueue(copies[0] as Database);
    expect(await backends("leasehold")).toBeGreaterThan(0);
    await copies[0]?.close();
    await vi.waitFor(async () => expect(await backends("leasehold")).toBe(0));
  });

  it("takes postgres.js' options over its own, in a URL as well", async () => {
    const named = { connection: { application_name: "named" }, max: 1 };
    const first = postgres({ ...partsOf(db.url), ...named });
    const second = postgres(`${db.url}?application_name=named&max=1`);
    await Promise.all([first, second].flatMap((own) => [enqueue(own), enqueue(own)]));
    expect(await backends("named")).toBe(2);
    await Promise.all([first.close(), second.close()]);
  });

  it("tries again after it could not connect", async () => {
    const own = postgres("postgres://127.0.0.1:1/none");
    await expect(enqueue(own)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await expect(enqueue(own)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await own.close();
  });

  it("lets a process without close() end within seconds", () => {
    const file = fileURLToPath(new URL("forgets-to-close.ts", import.meta.url));
    const args = ["--import", import.meta.resolve("jiti/register"), file, db.url];
    const run = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 30_000 });
    expect(run).toMatchObject({ status: 0, stdout: "called\n", stderr: "" });
  });
});

function partsOf(url: string) {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    host: hostname,
    port: Number(port),
    user: username,
    password,
    database: pathname.slice(1),
  };
}

describe("postgres()", () => {
  it("refuses a transaction and a reserved connection, and says where they belong", () =>
    withSql({}, async (sql) => {
      await sql.begin(async (tx) => {
        expect(() => postgres(tx as never)).toThrow(/the sql of a transaction.*\{ tx \}/);
      });
      const reserved = await sql.reserve();
      expect(() => postgres(reserved as never)).toThrow(/a reserved connection.*\{ tx \}/);
      reserved.release();
    }));

  it.each([undefined, null, 7, {}, { unsafe: () => undefined }, () => undefined])(
    "refuses %s and lists what it takes",
    (value) => {
      const error = (() => {
        try {
          return postgres(value as never);
        } catch (thrown) {
          return thrown;
        }
      })();
      expect(error).toMatchObject({ name: "DatabaseError", code: "LH107" });
      expect(String(error)).toMatch(/the sql .*, a connection string .*or postgres\.js options/);
    },
  );

  it("shows no password of a connection string that it refuses", () => {
    expect(() => postgres("mysql://root:secret@host/db")).toThrow(/begins with "mysql:"/);
    expect(() => postgres("mysql://root:secret@host/db")).not.toThrow(/secret/);
    expect(() => postgres("secret")).not.toThrow(/secret/);
    expect(() => postgres(db.url, { listen: "mysql://a:secret@b" })).toThrow(/"mysql:"/);
  });

  it("takes postgres.js' instance, whatever its types, by its types", () => {
    const like: PostgresLike = postgresJs({ max: 1, types: { bigint: postgresJs.BigInt } });
    expect(postgres(like).schema).toBe("leasehold");
    expect(postgres(like, { schema: "jobs" }).schema).toBe("jobs");
  });
});
