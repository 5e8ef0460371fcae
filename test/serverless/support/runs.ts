import pg from "pg";

/**
 * The table of the test's own that counts what ran, whatever the platform heard. `timeout` is the time
 * that the claim was given: for a drain, what was left of its budget, and its reserve.
 */
export const runsTable = `
  create table public.runs (
    job_id uuid not null, generation int not null, pid int not null, timeout interval)`;

let pool: pg.Pool | undefined;

/** Notes in the database that a handler runs for this claim; without an index, so that twice is two. */
export async function noteRun(id: string, generation: number): Promise<void> {
  pool ??= ownPool();
  await pool.query(
    `insert into public.runs values ($1, $2, $3,
       (select timeout_at - claimed_at from leasehold.jobs where id = $1 and generation = $2))`,
    [id, generation, process.pid],
  );
}

function ownPool(): pg.Pool {
  const made = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 1 });
  made.on("error", () => undefined); // a database that is stopped is part of the tests
  return made;
}
