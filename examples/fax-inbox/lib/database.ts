import { Pool } from "pg";

const own = globalThis as { faxPool?: Pool };

/**
 * The application's pool, which leasehold uses as well. `next dev` evaluates this module at each
 * change, and instrumentation and routes are bundled apart: the process keeps one.
 */
export const pool: Pool = own.faxPool ?? openPool();
own.faxPool = pool;

function openPool(): Pool {
  const opened = new Pool({
    connectionString: process.env.DATABASE_URL,
    max: 5,
    connectionTimeoutMillis: 10_000,
  });
  // Without a listener, a connection that breaks while nobody uses it ends the process.
  opened.on("error", (error) => console.warn("a database connection was lost:", error.message));
  return opened;
}
