import nodePostgres from "pg";
import { expect, test } from "vitest";
import type { Arguments } from "../../src/database.ts";
import { pg } from "../../src/pg/index.ts";
import { type unwaitingFunctions, waitsForNobody } from "../../src/unwaiting.ts";
import { openTestDatabase } from "../support/databases.ts";

test("what has a limit waits for no row that a transaction keeps", async () => {
  const db = await openTestDatabase("postgres");
  const { database } = db;
  const enqueue = (options: object = {}) =>
    database.call("enqueue", { p_kind: "k", p_options: options }) as Promise<{ id: string }>;
  const { id } = await enqueue({ key: "key" });
  await database.call("claim_job", { p_id: id, p_lease_ms: 1, p_worker: "w" });
  const { id: queued } = await enqueue();
  await database.call("grant_credits", { p_account: "a", p_amount: 10, p_reference: "r" });

  const blocker = await db.connect();
  await blocker.begin();
  for (const table of ["jobs", "accounts", "kinds", "steps", "once"]) {
    await blocker.query(`select from leasehold.${table} for update`);
  }
  const grown = 'select leasehold.enqueue(\'k\', \'{}\', \'{"key": "other", "once": "o"}\')';
  await blocker.query(grown);

  // A statement that has to wait for a lock at all fails.
  const pool = new nodePostgres.Pool({ connectionString: db.url, options: "-c lock_timeout=1" });
  const claim = { p_id: id, p_generation: 1 };
  const worker = crypto.randomUUID();
  const state = { name: "w", kinds: ["k"], concurrency: 2, idle: true, listening: true };
  const calls: Record<(typeof unwaitingFunctions)[number], Arguments[]> = {
    claim: [{ p_kinds: ["k"], p_limit: 10 }],
    claim_job: [{ p_id: id }, { p_id: queued }],
    extend: [claim, { ...claim, p_generation: 7 }],
    extend_many: [{ p_claims: [{ id, generation: 1 }] }],
    finish_many: [{ p_outcomes: [{ id, generation: 1, action: "complete" }] }],
    finish_and_claim: [
      { p_completed: [id], p_generations: [1], p_kinds: ["k"], p_limit: 10, p_worker: "w" },
      { p_completed: [], p_generations: [], p_kinds: ["k"], p_limit: 10, p_after: {} },
    ],
    status: [{ p_id: id }],
    has_due_work: [{}],
    every: [{ p_name: "tick", p_interval_ms: 1 }],
    reap: [{}],
    worker_beat: [{ p_id: worker, p_state: state }],
    worker_echo: [{ p_token: "t" }],
    worker_recover: [{ p_worker: "w", p_kinds: ["k"], p_known: [] }],
    worker_stop: [{ p_id: worker }],
    step_load: [{ p_id: id, p_name: "s" }],
    step_names: [{ p_id: id }],
    cache_begin: [{ p_key: "c", p_lease_ms: 1_000 }],
    claim_alerts: [{}],
    finish_alerts: [{ p_ids: ["1"] }],
    schema_version: [{}],
  };
  try {
    const strict = pg(pool);
    for (const [name, each] of Object.entries(calls)) {
      expect(waitsForNobody(name as "claim")).toBe(true);
      for (const args of each) await strict.call(name as "claim", args);
    }
    await expect(strict.call("complete", claim)).rejects.toMatchObject({ code: "55P03" });
  } finally {
    await pool.end();
    await blocker.rollback();
    await blocker.close();
    await db.close();
  }
});
