import { type Arguments, type Query, type Row, sqlCaller } from "../database.ts";
import { openDefaultDatabase } from "../default-database.ts";
import type { FunctionName } from "../functions.ts";
import type { FullDatabase } from "../lazy-database.ts";
import { pg } from "../pg/index.ts";
import { checkSchemaName } from "../schema/schema-name.ts";
import type { Given } from "./arguments.ts";
import { usageError } from "./failure.ts";
import { printNote } from "./output.ts";

/** The schema that --schema names. Throws LH002. */
export function schemaOf(given: Given): string {
  const schema = given.values("schema")[0] ?? "leasehold";
  checkSchemaName(schema);
  return schema;
}

/**
 * The database of --database-url, else the one that a client takes by itself. Nothing is opened
 * before its first call. Throws a usage error for a URL that names no PostgreSQL.
 */
export function databaseOf(given: Given): FullDatabase {
  const schema = schemaOf(given);
  const [url] = given.values("database-url");
  if (url !== undefined) return openUrl(url, schema);
  const { DATABASE_URL, POSTGRES_URL, NODE_ENV, VERCEL } = process.env;
  const embedded = !DATABASE_URL && !POSTGRES_URL && NODE_ENV !== "production" && !VERCEL;
  // It takes seconds to start. Only for people: a program has no use for it.
  if (embedded && process.stderr.isTTY) printNote("Opening the embedded database in .leasehold/ …");
  return openDefaultDatabase({ schema });
}

function openUrl(url: string, schema: string): FullDatabase {
  try {
    return pg(url, { schema });
  } catch (cause) {
    // The value may hold a password, so it is not shown.
    const hint = "Give a URL that begins with postgres://.";
    throw usageError("--database-url names no PostgreSQL.", hint, { cause });
  }
}

/**
 * Calls one SQL function that answers jsonb, and answers the JSON text as PostgreSQL prints it: the
 * client's own parsing would round numbers beyond 2^53. The database is closed afterwards.
 */
export async function callForJson(
  given: Given,
  name: FunctionName,
  args: Arguments,
): Promise<string> {
  const database = databaseOf(given);
  try {
    const answer = await database.transaction(({ client }) =>
      sqlCaller(database.schema, textQuery(client))(name, args),
    );
    return (answer as string | null) ?? "null";
  } finally {
    await database.close();
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

/** Runs a statement and answers jsonb as text. */
function textQuery(handle: unknown): Query {
  const client = handle as Client;
  return async (text, values) => {
    const { rows } =
      client.exec === undefined
        ? await client.query({ text, values, types: { getTypeParser: () => asText } })
        : await client.query(text, values, { parsers: { [jsonbOid]: asText } });
    return rows;
  };
}
