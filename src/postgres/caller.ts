import { answerParsers, type Database, type Query, type Row, sqlCaller } from "../database.ts";
import type { FunctionName } from "../functions.ts";
import type { PostgresQueryable, PostgresRows, PostgresStatement } from "./like.ts";

/** Runs the statement that it makes on an instance, a transaction or a connection. */
export type Run = (
  make: (sql: PostgresQueryable) => PostgresStatement,
  name: FunctionName,
) => PromiseLike<PostgresRows>;

/**
 * `call` over anything that runs postgres.js' statements.
 *
 * Columns are read from their bytes: the application may have parsers of its own, and transforms of
 * values and of column names (`postgres.camel`), which would change the answers. Statements are
 * unnamed, which costs a second round trip: postgres.js asks for the types of the parameters first.
 */
export function caller(sql: PostgresQueryable, schema: string): Database["call"] {
  return callerBy((make) => make(sql), schema);
}

/** The same, where it is decided at each call on what it runs. */
export function callerBy(run: Run, schema: string): Database["call"] {
  const query: Query = async (text, values, name): Promise<Row[]> => {
    const rows = await run((sql) => {
      return sql.unsafe(text, values, { prepare: false, simple: false }).raw();
    }, name);
    const parse = answerParsers[rows.columns?.[0]?.type ?? 0] ?? String;
    return Array.from(rows, (row) => ({ answer: read(row, parse) }));
  };
  return sqlCaller(schema, query, { rowsAsJson: true });
}

/** The one column of a row, which a transform of rows may have made another object of. */
function read(row: unknown, parse: (text: string) => unknown): unknown {
  const value = Object.values(row as object)[0] as Uint8Array | null;
  return value === null ? null : parse(new TextDecoder().decode(value));
}
