import { Pool } from "pg";

const own = globalThis as { assessmentPool?: Pool };

/**
 * The application's pool, which leasehold uses as well. `next dev` evaluates this module at each
 * change, and instrumentation and pages are bundled apart: the process keeps one.
 */
export const pool = own.assessmentPool ?? openPool();
own.assessmentPool = pool;

function openPool(): Pool {
  const opened = new Pool({ connectionString: process.env.DATABASE_URL, max: 5 });
  // Without a listener, a connection that breaks while nobody uses it ends the process.
  opened.on("error", (error) => console.warn("a database connection was lost:", error.message));
  return opened;
}
