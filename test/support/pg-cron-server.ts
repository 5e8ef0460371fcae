import { existsSync } from "node:fs";
import pg from "pg";
import type { Database } from "../../src/database.ts";
import { pg as leaseholdPg } from "../../src/pg/index.ts";
import { startPostgres } from "./postgres-server.ts";

const folder = "/usr/lib/postgresql/15";

export interface PgCronServer {
  readonly database: Database;
  readonly pool: pg.Pool;
  query(text: string, values?: unknown[]): Promise<pg.QueryResultRow[]>;
  /** Runs a script, and answers what the server said of it. */
  notices(script: string): Promise<string[]>;
  stop(): Promise<void>;
}

async function start(): Promise<PgCronServer> {
  const settings = {
    shared_preload_libraries: "'pg_cron'",
    "cron.database_name": "'postgres'",
    // pg_cron connects as who has scheduled, over the local host.
    "cron.host": "'127.0.0.1'",
  };
  const server = await startPostgres({ programs: `${folder}/bin`, settings });
  // It connects by the port that the server was started with.
  const pool = new pg.Pool({ connectionString: server.url, max: 10 });
  return {
    database: leaseholdPg(pool),
    pool,
    query: async (text, values) => (await pool.query(text, values)).rows,
    async notices(script) {
      const client = await pool.connect();
      const said: string[] = [];
      const listen = ({ message }: { message?: string | undefined }) => said.push(message ?? "");
      client.on("notice", listen);
      try {
        await client.query(script);
        return said;
      } finally {
        client.off("notice", listen);
        client.release();
      }
    },
    async stop() {
      await pool.end();
      await server.stop();
    },
  };
}

/** Starts Debian's PostgreSQL 15 with the real pg_cron; undefined where it is not installed. */
export const pgCronServer = existsSync(`${folder}/lib/pg_cron.so`) ? start : undefined;
