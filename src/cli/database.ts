import { type Arguments, type Query, type Row, sqlCaller } from "../database.ts";
import { openDefaultDatabase } from "../default-database.ts";
import type { FunctionName } from "../functions.ts";
import type { FullDatabase } from "../lazy-database.ts";
import { pg } from "../pg/index.ts";
import { checkSchemaName } from "../schema/schema-name.ts";
import type { Given } from "./arguments.ts";
import { usageError } from "./failure.ts";
import { printNote } from "./output.ts";
import { harmlessJson } from "./text-width.ts";

/** The schema that --schema names. Throws LH002. */
export function schemaOf(given: Given): string {
  const schema = given.values("schema")[0] ?? "leasehold";
  checkSchemaName(schema);
  return schema;
}

/**
 * The database of --database-url, else the one that a client takes by itself; a worker listens by
 * --listen-url. Nothing is opened before its first call. Throws a usage error for a URL that names no
 * PostgreSQL.
 */
export function databaseOf(given: Given): FullDatabase {
  const [url] = given.values("database-url");
  const [listen] = given.values("listen-url");
  for (const option of ["database-url", "listen-url"]) checkUrl(given, option);
  const options = { schema: schemaOf(given), ...(listen !== undefined && { listen }) };
  if (url !== undefined) return pg(url, options);
  const { DATABASE_URL, POSTGRES_URL, NODE_ENV, VERCEL } = process.env;
  const embedded = !DATABASE_URL && !POSTGRES_URL && NODE_ENV !== "production" && !VERCEL;
  // It takes seconds to start. Only for people: a program has no use for it.
  if (embedded && process.stderr.isTTY) printNote("Opening the embedded database in .leasehold/ …");
  return openDefaultDatabase(options);
}

function checkUrl(given: Given, option: string): void {
  const [url] = given.values(option);
  try {
    if (url !== undefined) pg(url); // opens nothing
  } catch (cause) {
    // The value may hold a password, so it is not shown.
    const hint = "Give a URL that begins with postgres://.";
    throw usageError(`--${option} names no PostgreSQL.`, hint, { cause });
  }
}

/** Calls of SQL functions that answer JSON, and what they are made over. */
export interface JsonCalls {
  /**
   * Calls one function, and answers the JSON text as PostgreSQL prints it: the client's own parsing
   * would round numbers beyond 2^53.
   */
  call(name: FunctionName, args: Arguments): Promise<string>;
  close(): Promise<void>;
}

/** Opens nothing before its first call. */
export function jsonCalls(given: Given): JsonCalls {
  const database = databaseOf(given);
  return {
    async call(name, args) {
      const answer = await database.transaction(({ client }) =>
        sqlCaller(database.schema, textQuery(client))(name, args),
      );
      return harmlessJson(String(answer));
    },
    close: () => database.close(),
  };
}

/** The same for a single call: the database is closed afterwards. */
export async function callForJson(
  given: Given,
  name: FunctionName,
  args: Arguments,
): Promise<string> {
  const calls = jsonCalls(given);
  try {
    return await calls.call(name, args);
  } finally {
    await calls.close();
  }
}

/** What the two drivers' handles of an open transaction share. */
interface Client {
  query(...args: unknown[]): Promise<{ rows: Row[] }>;
  /** PGlite's alone. */
  exec?: unknown;
}

const asText = (text: string): string => text;
const jsonbOid = 3802;
const boolOid = 16;
const types = {
  getTypeParser: (oid: number) => (oid === boolOid ? (text: string) => text === "t" : asText),
};

/** Runs a statement and answers jsonb as text, and a boolean as such. */
function textQuery(handle: unknown): Query {
  const client = handle as Client;
  return async (text, values) => {
    const { rows } =
      client.exec === undefined
        ? await client.query({ text, values, types })
        : await client.query(text, values, { parsers: { [jsonbOid]: asText } });
    return rows;
  };
}
