import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

describe.each(backends)("doctor on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, enqueue, running, age, session } = fixture;

  test("tells what the database knows", async () => {
    await call("define_kind", "k", { lease_ms: 5000 });
    await age(await enqueue(), 60_000);
    await age(await running({}, 1000), 5000);
    await call("worker_beat", "0198a000-0000-7000-8000-000000000001", {
      ...{ name: "w", kinds: ["k"], concurrency: 1, idle: false, listening: false },
    });
    await call("note_drain", "cron", {});
    const facts = await call("doctor");
    expect(facts).toMatchObject({
      server: {
        version: expect.any(Number),
        in_recovery: false,
        connections: expect.any(Number),
        max_connections: expect.any(Number),
      },
      schema: { ...(await call("schema_version")), unsound: [] },
      queue: { due: 1, running: 1, expired: 1 },
      kinds: [{ kind: "k", lease_ms: 5000, workers: 1, sample: 0, run_p95_ms: null }],
      workers: { alive: 1, listening: 0 },
      drains: [{ trigger: "cron" }],
      alerts: { open: 0, critical: 0 },
    });
    expect(facts.server.version).toBeGreaterThanOrEqual(150_000);
    expect(facts.queue.oldest_due_ms).toBeGreaterThanOrEqual(60_000);
    expect(facts.queue.oldest_expired_ms).toBeGreaterThanOrEqual(4000);
    expect(facts.tables.map(({ table }: { table: string }) => table)).toContain("jobs");
  });

  test("names an index that is not valid, and a function that is open to everybody", async () => {
    await session(async (own) => {
      await own.query("begin");
      await own.query(
        "update pg_index set indisvalid = false where indexrelid = 'leasehold.jobs_list_failed'::regclass",
      );
      await own.query("grant execute on function leasehold.stats() to public");
      const { unsound } = (await own.call("doctor")).schema;
      expect(unsound).toEqual([
        { rule: "indexes", id: expect.stringContaining("jobs_list_failed") },
        { rule: "rights", id: expect.stringContaining("stats") },
      ]);
      await own.query("rollback");
    });
  });

  test.runIf(backend === "postgres")("tells what a role sets for its connections", async () => {
    await session(async (own) => {
      const none = await own.call("doctor");
      expect(none.session).toEqual({
        ...{ role: expect.any(String), read_only: false, isolation: "read committed" },
        ...{ synchronous_commit: expect.any(Boolean), limit: null, used: null },
        ...{ statement_timeout_ms: 0, idle_session_timeout_ms: 0, transaction_timeout_ms: 0 },
        idle_in_transaction_session_timeout_ms: 0,
      });
      await own.query("set statement_timeout = '8s'");
      await own.query("set idle_in_transaction_session_timeout = '1min'");
      await own.query("set default_transaction_isolation = 'serializable'");
      await own.query("set synchronous_commit = off");
      expect((await own.call("doctor")).session).toMatchObject({
        ...{ statement_timeout_ms: 8_000, idle_in_transaction_session_timeout_ms: 60_000 },
        ...{ isolation: "serializable", synchronous_commit: false },
      });
      await own.query("reset all");
      const limits = "alter database %I connection limit 10";
      await own.query(`do $$ begin execute format('${limits}', current_database()); end $$`);
      expect((await own.call("doctor")).session).toMatchObject({
        limit: 10,
        used: expect.any(Number),
      });
    });
  });

  test("reads only", async () => {
    await age(await running({}, 1000), 2000);
    await session(async (own) => {
      await own.query("begin read only");
      expect((await own.call("doctor")).queue).toMatchObject({ running: 1, expired: 1 });
      await own.query("commit");
    });
  });

  if (backend === "postgres") {
    test("names the transaction that has been open for longest, and how long", async () => {
      const other = await fixture.db.connect();
      await other.begin();
      await other.query("select 1");
      const { transaction } = (await call("doctor")).horizon;
      expect(transaction.name).toMatch(/^pid \d+, .*, idle in transaction$/);
      expect(transaction.age_ms).toBeGreaterThanOrEqual(0);
      await other.rollback();
      await other.close();
    });

    test("says what PostgREST serves, and whether service_role may call every function", async () => {
      const { exposed, schema } = await call("doctor");
      expect([exposed, schema.service_role]).toEqual([null, null]);
      await session(async (own) => {
        await own.query("begin");
        await own.query("create role authenticator");
        await own.query("create role service_role");
        expect(await own.call("doctor")).toMatchObject({
          exposed: ["public"],
          schema: { service_role: false },
        });
        await own.query(`alter role authenticator set pgrst.db_schemas = 'public, leasehold'`);
        await own.query("grant usage on schema leasehold to service_role");
        await own.query("grant execute on all functions in schema leasehold to service_role");
        expect(await own.call("doctor")).toMatchObject({
          exposed: ["public", "leasehold"],
          schema: { service_role: true },
        });
        await own.query("rollback");
      });
    });
  }
});
