import { afterEach, describe, expect, test } from "vitest";
import { migrate, renderSql, schemaVersion } from "../../src/schema/index.ts";
import { waitForLocks } from "../support/barrier.ts";
import {
  type Backend,
  backends,
  openTestDatabase,
  type TestDatabase,
  type TestDatabaseOptions,
} from "../support/databases.ts";
import { describeSchema, functionIds } from "../support/schema-description.ts";

const open: TestDatabase[] = [];

async function database(backend: Backend, options?: TestDatabaseOptions): Promise<TestDatabase> {
  const db = await openTestDatabase(backend, options);
  open.push(db);
  return db;
}

afterEach(async () => {
  for (const db of open.splice(0).reverse()) await db.close();
});

/** As if an older version had installed the functions. */
const outdate = (db: TestDatabase) =>
  db.query(
    `update ${db.quotedSchema}.migrations set checksum = 'older' where version = ${schemaVersion}`,
  );

/** Of this database: pg_locks shows those of tests in others as well. */
const advisoryLocks = (db: TestDatabase) =>
  db.value(
    `select count(*) from pg_locks where locktype = 'advisory'
       and database = (select oid from pg_database where datname = current_database())`,
  );

const newerError = {
  code: "LH006",
  hint: expect.stringContaining("Upgrade the leasehold package"),
};

describe.each(backends)("migrate on %s", (backend) => {
  test("installs once, and finds it done the next time", async () => {
    const db = await database(backend, { migrated: false });
    const result = { version: schemaVersion, changed: true };
    expect(await migrate(db.database)).toEqual(result);
    const installed = await describeSchema(db);
    expect(await migrate(db.database)).toEqual({ ...result, changed: false });
    expect(await describeSchema(db)).toEqual(installed);
    expect(await advisoryLocks(db)).toBe(0);
  });

  test("the printed script installs the same, and replaces functions in place", async () => {
    const db = await database(backend);
    const printed = await database(backend, { migrated: false });
    await printed.query(renderSql());
    expect(await describeSchema(printed)).toEqual(await describeSchema(db));
    const before = await functionIds(printed);
    await printed.query(renderSql());
    expect(await functionIds(printed)).toEqual(before);
    expect(await migrate(printed.database)).toMatchObject({ changed: false });
  });

  test("refuses a newer schema and leaves it as it is", async () => {
    const db = await database(backend);
    await db.query("insert into leasehold.migrations values (9999, 'from-the-future', 'x')");
    await db.query("create function leasehold.from_the_future() returns int return 1");
    const newer = await describeSchema(db);
    await expect(migrate(db.database)).rejects.toMatchObject(newerError);
    await expect(db.query(renderSql())).rejects.toMatchObject({ code: "LH006" });
    expect(await describeSchema(db)).toEqual(newer);
  });

  test("a run that fails changes nothing and keeps no lock", async () => {
    const db = await database(backend, { migrated: false });
    const run = migrate(db.database, { roles: ["nobody_of_this_name"] });
    await expect(run).rejects.toMatchObject({ code: "LH002" });
    expect(await db.query("select from pg_namespace where nspname = 'leasehold'")).toEqual([]);
    expect(await advisoryLocks(db)).toBe(0);
    expect(await migrate(db.database)).toMatchObject({ changed: true });
  });

  test("functions of an older version are brought up to date, and the obsolete dropped", async () => {
    const db = await database(backend);
    const current = await describeSchema(db);
    const create = (head: string) =>
      db.query(`create function leasehold.${head} language plpgsql as 'begin return null; end'`);
    await create("gone(p_id uuid) returns int");
    await db.query("drop function leasehold.claim(text[], int, int, text, int, uuid[], jsonb)");
    await create("claim(p_kinds text[], p_limit int = 1) returns int");
    await db.query("drop function leasehold.pause(text)");
    await create("pause(p_kind text) returns int");
    await db.query("drop function leasehold._iso(timestamptz)");
    await create("_iso(p_at timestamptz, p_zone text = null) returns text");
    await outdate(db);
    expect(await migrate(db.database)).toMatchObject({ changed: true });
    expect(await describeSchema(db)).toEqual(current);
  });

  test("brings the first version's tables to those of a fresh install", async () => {
    const db = await database(backend);
    const { migrations: _, ...fresh } = await describeSchema(db);
    // What each migration since has made is taken away again.
    await db.query("drop table leasehold.steps, leasehold.workers cascade");
    await db.query(
      "drop table leasehold.cache, leasehold.accounts, leasehold.holds, leasehold.entries, leasehold.alerts cascade",
    );
    await db.query(
      `alter table leasehold.jobs drop column money cascade, drop column cost cascade,
         drop column account, drop column external, drop column settle_after,
         drop column trace_context`,
    );
    await db.query("drop type leasehold.finished_and_claimed cascade");
    await db.query("alter type leasehold.claimed_job drop attribute trace_context");
    await db.query("drop table leasehold.drains");
    await db.query("drop index leasehold.jobs_failed_at, leasehold.job_events_lapses");
    await db.query("delete from leasehold.ticks where name = 'leasehold.reap'");
    await db.query("delete from leasehold.migrations where version > 1");
    expect(await migrate(db.database)).toMatchObject({ changed: true, version: schemaVersion });
    const { migrations, ...upgraded } = await describeSchema(db);
    expect(upgraded).toEqual(fresh);
    expect(migrations).toHaveLength(schemaVersion);
    const ticks = await db.query("select name from leasehold.ticks order by name");
    expect(ticks).toEqual([{ name: "leasehold.prune" }, { name: "leasehold.reap" }]);
  });

  test("does not touch a schema that holds something else", async () => {
    const db = await database(backend, { migrated: false });
    await db.query("create schema leasehold; create table leasehold.users (id int)");
    await expect(migrate(db.database)).rejects.toMatchObject({ code: "LH002" });
    expect(await db.query("select from leasehold.users")).toEqual([]);
  });

  test("a database object that runs no scripts says so", async () => {
    const db = await database(backend, { migrated: false });
    const { schema, call } = db.database;
    await expect(migrate({ schema, call })).rejects.toMatchObject({ code: "LH104" });
  });
});

describe.each(backends)("schema names on %s", (backend) => {
  const names = [
    'My "Jobs" $$ x',
    "it's задания $body$ \\ {{schema}}",
    "x".repeat(63),
    "Leasehold",
  ];

  test("installations beside each other do not see each other, and are found current", async () => {
    const db = await database(backend);
    for (const schema of names) await db.query(renderSql({ schema }));
    const enqueue = (schema: string) =>
      db.value(`select ${quote(schema)}.enqueue('k', '{}', '{"key": "same"}')->>'outcome'`);
    for (const schema of ["leasehold", ...names]) {
      expect(await enqueue(schema)).toBe("created");
      expect(await db.value(`select count(*) from ${quote(schema)}.jobs`)).toBe(1);
      expect(await db.query(`select * from ${quote(schema)}.list('{"kind": "k"}')`)).toHaveLength(
        1,
      );
    }
    expect(await enqueue("leasehold")).toBe("conflict");
    for (const schema of names) {
      const own = Object.create(db, { quotedSchema: { value: quote(schema) } }) as TestDatabase;
      const before = await functionIds(own);
      await db.query(renderSql({ schema }));
      expect(await functionIds(own), schema).toEqual(before);
    }
  });

  test("a schema with an odd name is found current by the client", async () => {
    const db = await database(backend, { schema: `${names[0]} ${names[1]}`.slice(0, 30) });
    expect(await migrate(db.database)).toMatchObject({ changed: false });
  });
});

describe("on PostgreSQL", () => {
  test("twenty at once on an empty database make one schema", async () => {
    const db = await database("postgres", { migrated: false });
    const expected = await describeSchema(await database("postgres"));
    const gate = await db.connect();
    await gate.begin();
    await gate.query(
      "select pg_advisory_xact_lock(hashtextextended('leasehold.migrate:leasehold', 0))",
    );
    const runs = Array.from({ length: 20 }, () => migrate(db.database));
    const admin = await db.connect();
    await waitForLocks(admin, 20);
    await gate.commit();
    for (const run of await Promise.all(runs)) expect(run.version).toBe(schemaVersion);
    expect(await describeSchema(db)).toEqual(expected);
    expect(await advisoryLocks(db)).toBe(0);
  });

  test("works where transactions are serializable by default", async () => {
    const db = await database("postgres", { migrated: false });
    const name = await db.value("select quote_ident(current_database())");
    await db.query(`alter database ${name} set default_transaction_isolation = 'serializable'`);
    const session = await db.connect();
    await session.query(renderSql());
    expect(await session.value("show transaction_isolation")).toBe("serializable");
    expect(await session.value("show check_function_bodies")).toBe("on");
  });
});

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
