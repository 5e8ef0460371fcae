import type { ClientBase } from "pg";
import { pool } from "./database";
import type { Report } from "./report";

/** The application's own table beside leasehold's: which job was about which address. */
export async function createTable(): Promise<void> {
  await pool.query(`
    create table if not exists assessments (
      job_id uuid primary key,
      address text not null,
      report jsonb,
      created_at timestamptz not null default now()
    )`);
}

export async function remember(jobId: string, address: string): Promise<void> {
  const sql = "insert into assessments (job_id, address) values ($1, $2) on conflict do nothing";
  await pool.query(sql, [jobId, address]);
}

/** Within a transaction of `client`. */
export async function saveReport(client: ClientBase, jobId: string, report: Report): Promise<void> {
  await client.query("update assessments set report = $2 where job_id = $1", [jobId, report]);
}

export interface Assessment {
  readonly jobId: string;
  readonly address: string;
  /** Null until it is completed. */
  readonly report: Report | null;
}

export async function assessmentsOf(jobIds: readonly string[]): Promise<Map<string, Assessment>> {
  const { rows } = await pool.query<Assessment>(
    `select job_id as "jobId", address, report from assessments where job_id = any($1)`,
    [jobIds],
  );
  return new Map(rows.map((row) => [row.jobId, row]));
}

/** An address says where somebody wants to live: it is not kept for longer than it is shown. */
export async function forgetOldAddresses(): Promise<void> {
  await pool.query("delete from assessments where created_at < now() - interval '30 days'");
}
