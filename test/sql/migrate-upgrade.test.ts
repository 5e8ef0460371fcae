import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { renderParts, type SqlParts } from "../../src/schema/script.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { describeSchema, functionIds } from "../support/schema-description.ts";

/** A little schema with a history, for the rules that the real one may not have needed yet. */
const first: SqlParts = {
  tables: "create table leasehold.things (id int);",
  indexes: "create index things_by_id on leasehold.things (id);",
  internal: "",
  functions: {
    // In the order of names, one that needs another that comes later.
    count_all: `create or replace function leasehold.count_all(p_above int default 0)
      returns bigint language sql as $$ select leasehold.count_them(p_above) $$;`,
    count_them: `create or replace function leasehold.count_them(p_above int)
      returns bigint language sql as $$ select count(*) from leasehold.things where id > p_above $$;`,
  },
  grants: "do $$ declare v text[] := array[]::text[] /* roles */; begin end $$;",
  migrations: [],
  checksum: "first",
};

const third: SqlParts = {
  ...first,
  tables: "create table leasehold.things (id int, colour text, size int not null default 1);",
  migrations: [
    { version: 2, name: "colour", sql: "alter table leasehold.things add colour text;" },
    {
      version: 3,
      name: "size",
      sql: `alter table leasehold.things add size int not null default 1;
        do $$ begin update leasehold.things set size = 2 where '{{schema}}' <> ''; end $$;`,
    },
  ],
  checksum: "third",
};

describe.each(backends)("an upgrade on %s", (backend) => {
  const schema = "My $$ schema";
  let db: TestDatabase;
  const run = (parts: SqlParts) => db.query(renderParts(parts, { schema }));

  beforeEach(async () => {
    db = await openTestDatabase(backend, { schema, migrated: false });
  });
  afterEach(() => db.close());

  test("runs each missing migration once, and ends where a fresh install begins", async () => {
    await run(first);
    await db.query(`insert into ${db.quotedSchema}.things values (7)`);
    const ids = await functionIds(db);
    await run(third);
    expect(await db.query(`select * from ${db.quotedSchema}.things`)).toEqual([
      { id: 7, colour: null, size: 2 },
    ]);
    expect(await functionIds(db)).toEqual(ids);
    const upgraded = await describeSchema(db);
    expect(upgraded.migrations).toEqual([
      { version: 1, name: "initial", checksum: "first" },
      { version: 2, name: "colour", checksum: "third" },
      { version: 3, name: "size", checksum: "third" },
    ]);
    await run(third);
    expect(await describeSchema(db)).toEqual(upgraded);
    await db.query(`drop schema ${db.quotedSchema} cascade`);
    await run(third);
    const { migrations, ...fresh } = await describeSchema(db);
    expect(migrations.map((row) => (row as { version: number }).version)).toEqual([1, 2, 3]);
    expect(fresh).toEqual({ ...upgraded, migrations: undefined });
  });

  test("an older version does not touch what a newer one installed", async () => {
    await run(third);
    const installed = await describeSchema(db);
    await expect(run(first)).rejects.toMatchObject({ code: "LH006" });
    expect(await describeSchema(db)).toEqual(installed);
  });

  test("a migration that fails takes everything back", async () => {
    await run(first);
    const before = await describeSchema(db);
    const broken = { version: 4, name: "broken", sql: "select 1 / 0" };
    const fourth = { ...third, migrations: [...third.migrations, broken] };
    await expect(run(fourth)).rejects.toMatchObject({ code: "22012" });
    expect(await describeSchema(db)).toEqual(before);
  });

  test("a function whose arguments grew stays one function", async () => {
    await run(first);
    const grown = `create or replace function leasehold.count_all(p_above int default 0, p_colour text default null)
      returns bigint language sql as $$ select 42 $$;`;
    await run({ ...first, functions: { ...first.functions, count_all: grown } });
    expect(await db.value(`select ${db.quotedSchema}.count_all(p_above => 1)`)).toBe(42);
    expect(await functionIds(db)).toHaveLength(2);
  });
});
