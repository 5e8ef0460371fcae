import pg from "pg";
import { inject } from "vitest";
import { pg as leaseholdPg } from "../../src/pg/index.ts";
import { migrate } from "../../src/schema/index.ts";
import type { BackendDatabase } from "./databases.ts";
import { firstValue, type Queryable, type Session } from "./queryable.ts";
import { createDatabase, dropDatabase } from "./template.ts";

/** int8 as a number, as PGlite reads it, so that tests compare alike on both. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === 20 && format !== "binary" ? Number : pg.types.getTypeParser(oid, format),
};

/** A database of its own on the server of this run. */
export async function openPostgres(schema: string, migrated: boolean): Promise<BackendDatabase> {
  const adminUrl = inject("adminUrl");
  // Only the usual schema is in the template.
  const copied = migrated && schema === "leasehold";
  const url = await createDatabase(adminUrl, copied);
  const pool = new pg.Pool({ connectionString: url, max: 20, types });
  const sessions = new Set<Session>();
  const database = leaseholdPg(pool, { schema });
  if (migrated && !copied) await migrate(database);
  return {
    ...queries(pool),
    database,
    url,
    pool,
    get pglite(): never {
      throw new Error("This test database is PostgreSQL, not PGlite");
    },
    async connect() {
      const session = await connect(url, () => sessions.delete(session));
      sessions.add(session);
      return session;
    },
    async close() {
      await Promise.all([...sessions].map((session) => session.close()));
      await pool.end();
      await dropDatabase(adminUrl, url);
    },
  };
}

function queries(client: pg.Pool | pg.Client): Queryable {
  const query: Queryable["query"] = async (text, values) => {
    const result = await client.query(text, values);
    return Array.isArray(result) ? result.at(-1).rows : result.rows;
  };
  return { query, ...firstValue({ query }) };
}

async function connect(url: string, onClose: () => void): Promise<Session> {
  const client = new pg.Client({ connectionString: url, types });
  // Without a listener, a backend that a test terminates would end the whole run.
  client.on("error", () => undefined);
  await client.connect();
  const own = queries(client);
  return {
    ...own,
    pid: await own.value("select pg_backend_pid()"),
    begin: async () => void (await own.query("begin")),
    commit: async () => void (await own.query("commit")),
    rollback: async () => void (await own.query("rollback")),
    async close() {
      onClose();
      await client.end();
    },
  };
}
