import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pg } from "../../src/pg/index.ts";
import { migrate, renderSql } from "../../src/schema/index.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { urlOf } from "../support/template.ts";

/** Roles belong to the whole server, so their names are this test's own. */
const name = (what: string): string => `leasehold ${what}'$$ ${randomBytes(4).toString("hex")}`;
const quote = (role: string): string => `"${role.replaceAll('"', '""')}"`;

/** What the role may call, and whether it reaches a table. */
async function rightsOf(db: TestDatabase, role: string) {
  const functions = await db.query(
    `select proname as name from pg_proc where pronamespace = $2::regnamespace
       and has_schema_privilege($1, pronamespace, 'usage')
       and has_function_privilege($1, oid, 'execute') order by 1`,
    [role, db.quotedSchema],
  );
  const tables = await db.query(
    `select relname from pg_class where relnamespace = $2::regnamespace and relkind = 'r'
       and has_table_privilege($1, oid, 'select, insert, update, delete, truncate')`,
    [role, db.quotedSchema],
  );
  return { functions: functions.map((row) => row.name), tables };
}

async function publicFunctions(db: TestDatabase): Promise<string[]> {
  const rows = await db.query(
    `select proname as name from pg_proc
     where pronamespace = $1::regnamespace and proname not like '\\_%' order by 1`,
    [db.quotedSchema],
  );
  return rows.map((row) => row.name);
}

describe.each(backends)("the roles of migrate on %s", (backend) => {
  let db: TestDatabase;
  let app: string;
  let stranger: string;

  beforeEach(async () => {
    db = await openTestDatabase(backend, { schema: 'Odd "schema" $$' });
    app = name("app");
    stranger = name("stranger");
    for (const role of [app, stranger]) await db.query(`create role ${quote(role)}`);
  });

  afterEach(async () => {
    for (const role of [app, stranger]) {
      await db.query(`drop owned by ${quote(role)}; drop role ${quote(role)}`);
    }
    await db.close();
  });

  test("a named role may call every public function, and nothing else", async () => {
    expect(await migrate(db.database, { roles: [app] })).toMatchObject({ changed: true });
    const functions = await publicFunctions(db);
    expect(functions).toContain("enqueue");
    expect(await rightsOf(db, app)).toEqual({ functions, tables: [] });
    expect(await rightsOf(db, stranger)).toEqual({ functions: [], tables: [] });
  });

  test("a role is granted again at the next run without being named", async () => {
    await migrate(db.database, { roles: [app] });
    await db.query(`drop function ${db.quotedSchema}.stats()`);
    await db.query(renderSql({ schema: db.schema }));
    expect((await rightsOf(db, app)).functions).toEqual(await publicFunctions(db));
  });

  test("what a role got by other ways is taken away", async () => {
    await db.query(`grant select on ${db.quotedSchema}.jobs to ${quote(stranger)}`);
    await db.query(`grant execute on function ${db.quotedSchema}.stats() to public`);
    await db.query(renderSql({ schema: db.schema }));
    expect(await rightsOf(db, stranger)).toEqual({ functions: [], tables: [] });
  });

  test("names that are no role are refused", async () => {
    for (const role of ["public", "none", "", "a\0b"]) {
      const run = migrate(db.database, { roles: [role] });
      await expect(run, JSON.stringify(role)).rejects.toMatchObject({ code: "LH002" });
    }
  });
});

test("an ordinary role installs into a schema that was made for it, and upgrades", async () => {
  const db = await openTestDatabase("postgres", { migrated: false });
  const owner = name("owner");
  await db.query(
    `create role ${quote(owner)} login; create schema leasehold authorization ${quote(owner)}`,
  );
  const url = new URL(urlOf(db.url, new URL(db.url).pathname.slice(1)));
  url.username = encodeURIComponent(owner);
  url.password = "";
  const own = pg(url.href);
  try {
    expect(await migrate(own)).toMatchObject({ changed: true });
    expect(await migrate(own)).toMatchObject({ changed: false });
    await db.query("update leasehold.migrations set checksum = 'older'");
    expect(await migrate(own)).toMatchObject({ changed: true });
    expect(await own.call("enqueue", { p_kind: "k" })).toMatchObject({ outcome: "created" });
  } finally {
    await own.close();
    await db.query(`drop owned by ${quote(owner)} cascade; drop role ${quote(owner)}`);
    await db.close();
  }
});
