import type { TestDatabase } from "./databases.ts";

const queries = {
  columns: `select c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
      pg_get_expr(d.adbin, d.adrelid) as default, a.attidentity, c.relrowsecurity
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p', 'c')
      and a.attnum > 0 and not a.attisdropped order by 1, a.attnum`,
  indexes: `select pg_get_indexdef(i.indexrelid) as definition
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = $1::regnamespace order by 1`,
  constraints: `select conrelid::regclass::text, conname, pg_get_constraintdef(oid) as definition
    from pg_constraint where connamespace = $1::regnamespace order by 1, 2`,
  functions: `select oid::regprocedure::text as function, pg_get_functiondef(oid) as definition, proacl::text
    from pg_proc where pronamespace = $1::regnamespace order by 1`,
  migrations: "select version, name, checksum from {schema}.migrations order by 1",
};

/** All that makes up the schema, to compare two installations; without owners, ids and times. */
export async function describeSchema(
  db: Pick<TestDatabase, "query" | "quotedSchema">,
): Promise<Record<keyof typeof queries, unknown[]>> {
  const parts = [];
  for (const [name, query] of Object.entries(queries)) {
    const text = query.replace("{schema}", () => db.quotedSchema);
    parts.push([name, await db.query(text, text.includes("$1") ? [db.quotedSchema] : [])]);
  }
  return Object.fromEntries(parts);
}

/** Each function and its oid: the same oid means that it was replaced in place. */
export function functionIds(
  db: Pick<TestDatabase, "query" | "quotedSchema">,
): Promise<Record<string, unknown>[]> {
  return db.query(
    `select oid::int8 as oid, oid::regprocedure::text as function from pg_proc
     where pronamespace = $1::regnamespace order by 2`,
    [db.quotedSchema],
  );
}
