import { quoteIdentifier } from "../../src/database.ts";
import type { TestDatabase } from "./databases.ts";

type Aged = Pick<TestDatabase, "query" | "quotedSchema" | "schema">;

/**
 * Lets `ms` milliseconds pass for one job: all its times move into the past by as much. Throws when
 * there is no such job.
 */
export async function age(db: Aged, id: string, ms: number): Promise<void> {
  const rows = await shift(db, "jobs", "id = $2::uuid returning id", [ms, id]);
  if (rows.length !== 1) throw new Error(`There is no job ${id} to age`);
}

/** The same for every row of a table: `jobs`, `once`, `ticks`, … */
export async function ageAll(db: Aged, table: string, ms: number): Promise<void> {
  await shift(db, table, "true", [ms]);
}

async function shift(db: Aged, table: string, where: string, values: unknown[]) {
  const columns = await db.query(
    `select attname as name from pg_attribute
     where attrelid = format('%I.%I', $1::text, $2::text)::regclass and attnum > 0
       and not attisdropped and atttypid = 'timestamptz'::regtype`,
    [db.schema, table],
  );
  // What is null stays null.
  const changes = columns.map(({ name }) => {
    const column = quoteIdentifier(name);
    return `${column} = ${column} - $1::float8 * interval '1 millisecond'`;
  });
  const target = `${db.quotedSchema}.${quoteIdentifier(table)}`;
  return db.query(`update ${target} set ${changes.join(", ")} where ${where}`, values);
}
