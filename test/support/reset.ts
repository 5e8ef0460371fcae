import { setTimeout } from "node:timers/promises"; // not the one that a test may have made false
import { quoteIdentifier } from "../../src/database.ts";
import { quoteLiteral } from "../../src/schema/schema-name.ts";
import type { Queryable } from "./queryable.ts";

/**
 * Makes a function that empties all tables of the schema but `migrations`, and puts back the rows
 * that they hold now: some belong to the installation.
 */
export async function tableReset(
  db: Pick<Queryable, "query">,
  schema: string,
): Promise<() => Promise<void>> {
  const names = await db.query(
    "select tablename as name from pg_tables where schemaname = $1 and tablename <> 'migrations'",
    [schema],
  );
  const tables = names.map(({ name }) => `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`);
  if (tables.length === 0) return async () => undefined;
  const seeds = await Promise.all(tables.map((table) => insertOf(db, table)));
  // A test that left a transaction open fails here, and soon, instead of waiting for ever.
  const script = [
    "set local lock_timeout = '10s'",
    `truncate ${tables.join(", ")} restart identity`,
    ...seeds.filter((seed) => seed !== ""),
  ].join(";\n");
  return async () => {
    await atRest(db);
    await db.query(script);
  };
}

/**
 * Waits for the statements of connections that a test has cut: the server goes on with them, and a
 * truncate that met one would take the tables in another order than it does.
 */
async function atRest(db: Pick<Queryable, "query">): Promise<void> {
  for (let i = 0; i < 1_000; i += 1) {
    const active = await db.query(
      `select from pg_stat_activity where datname = current_database() and state = 'active'
        and backend_type = 'client backend' and pid <> pg_backend_pid() limit 1`,
    );
    if (active.length === 0) return;
    await setTimeout(10);
  }
}

async function insertOf(db: Pick<Queryable, "query">, table: string): Promise<string> {
  const [row] = await db.query(`select jsonb_agg(to_jsonb(t))::text as rows from ${table} t`);
  if (typeof row?.rows !== "string") return "";
  const rows = `jsonb_populate_recordset(null::${table}, ${quoteLiteral(row.rows)})`;
  return `insert into ${table} overriding system value select * from ${rows}`;
}
