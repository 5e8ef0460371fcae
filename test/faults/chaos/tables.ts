import type { Pool } from "pg";

/**
 * What handlers and producers write beside leasehold. Nothing is unique here and nothing is upserted,
 * so that whatever happens twice is seen twice.
 */
const appSql = `
create schema app;
-- Written in job.transaction, with the completion.
create table app.effects (job_id uuid, run int, generation int, tag text, step text);
-- Written under leasehold.guard, by an SQL function of the application's that does not complete the job.
create table app.guarded (seq bigint generated always as identity, job_id uuid, generation int);
create function app.write_guarded(p_id uuid, p_generation int) returns void language plpgsql as $$
begin
  perform leasehold.guard(p_id, p_generation);
  insert into app.guarded (job_id, generation) values (p_id, p_generation);
end $$;
-- Each claim that reached a handler, written without any fence.
create table app.attempts (job_id uuid, generation int);
-- A producer's own row, in the transaction that enqueues.
create table app.orders (tag text);
create role chaos_client nologin;
`;

export async function createAppTables(pool: Pool): Promise<void> {
  await pool.query(appSql);
}
