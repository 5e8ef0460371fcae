import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { pglite } from "../../src/pglite/index.ts";
import { ageAll } from "../support/ageing.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { client, counts, deferred, eventsOf, rowOf, until } from "./support/client.ts";
import { connectionLost, failing, interposed } from "./support/interposed.ts";

const job = defineJob("job", { backoff: [0] });

describe("a drain whose database goes away", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase("postgres");
    db.pool.on("error", () => undefined); // an application that listens gets no warning
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  /** Ends every connection of the client's pool, as a failover does. */
  const terminate = async () => {
    const admin = await db.connect();
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    const others = `select count(*)::int from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state is not null`;
    await until(async () => (await admin.value(others)) === 0, "the end of the backends");
    await admin.close();
  };

  test("before the first claim rejects, since there is nothing else to report", async () => {
    const leasehold = client(
      failing(db.database, "claim"),
      handle(job, () => undefined),
    );
    await leasehold.enqueue(job);
    await expect(leasehold.drain()).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(leasehold.told).toEqual([]);
    expect(await leasehold.drain()).toMatchObject({ completed: 1 });
  });

  test("between two jobs reports what it did, with the reason and the error", async () => {
    const database = interposed(db.database, async (call) => {
      if (call.name === "claim" && call.nth > 1) throw connectionLost();
      return call.go();
    });
    const leasehold = client(
      database,
      handle(job, () => undefined),
    );
    await leasehold.enqueueMany([{ job }, { job }]);
    const report = await leasehold.drain();
    expect(report).toMatchObject({ reason: "error", completed: 1, processed: 1 });
    expect(report.error).toMatchObject({ code: "ECONNRESET" });
    // One event, and no housekeeping on a database that is away.
    expect(leasehold.toldOf("error")).toEqual([{ error: report.error, during: "claim" }]);
    expect(leasehold.toldOf("drained")).toEqual([report]);
    expect(database.calls).not.toContain("every");
    expect(await counts(db)).toEqual({ completed: 1, queued: 1 });
  });

  test("while a handler runs records its outcome on a new connection (S07)", async () => {
    const leasehold = client(
      db.database,
      handle(job, async ({ payload }) => {
        await terminate();
        if (payload === "fails") throw new Error("boom");
        return payload;
      }),
    );
    await leasehold.enqueueMany(["a", "fails", "b"].map((payload) => ({ job, payload })));
    const report = await leasehold.drain();
    expect(report).toMatchObject({ completed: 2, retried: 1, unrecorded: 0, reason: "maxJobs" });
    expect(await counts(db)).toEqual({ completed: 2, queued: 1 });
  });

  test("tries again to record an outcome, and tells nothing when that works", async () => {
    const database = failing(db.database, "finish_many", 2);
    const leasehold = client(
      database,
      handle(job, () => "kept"),
    );
    await leasehold.enqueue(job);
    const report = await leasehold.drain();
    expect(report).toMatchObject({ completed: 1 });
    expect((await rowOf(db, report.jobs[0]?.id ?? "")).result).toBe("kept");
    expect(leasehold.toldOf("error")).toEqual([]);
    expect(database.calls.filter((name) => name === "finish_many")).toHaveLength(3);
  });

  test("recognizes a completion whose acknowledgement was lost", async () => {
    const database = interposed(db.database, async (call) => {
      const answer = await call.go();
      if (call.name === "finish_many" && call.nth === 1) throw connectionLost();
      return answer;
    });
    const leasehold = client(
      database,
      handle(job, () => "once"),
    );
    await leasehold.enqueue(job);
    const report = await leasehold.drain();
    expect(report).toMatchObject({ completed: 1, lost: 0 });
    expect(await eventsOf(db, report.jobs[0]?.id ?? "")).toEqual([]);
  });

  test("leaves what it can't record to the lease, with one event, and goes on (S07)", async () => {
    const database = interposed(db.database, async (call) => {
      const [outcome] = (call.args.p_outcomes ?? []) as { result?: unknown }[];
      if (outcome?.result === "a") throw connectionLost();
      return call.go();
    });
    const leasehold = client(
      database,
      handle(job, ({ payload }) => payload),
    );
    const [a] = await leasehold.enqueueMany(["a", "b"].map((payload) => ({ job, payload })));
    const id = a && "id" in a ? a.id : "";
    const report = await leasehold.drain({ budget: 2_500, reserve: 0 });
    expect(report.jobs[0]).toMatchObject({ id, outcome: "unrecorded", code: "ECONNRESET" });
    expect(report).toMatchObject({ unrecorded: 1, completed: 1 });
    expect(leasehold.toldOf("error")).toEqual([{ error: connectionLost(), during: "record", id }]);
    expect(await rowOf(db, id)).toMatchObject({ status: "running", generation: 1 });
    expect(report.durationMs).toBeLessThan(3_500);
    await ageAll(db, "jobs", 301_000);
    const again = client(
      db.database,
      handle(job, () => "second"),
    );
    expect(await again.drain()).toMatchObject({ completed: 1 });
    expect(await rowOf(db, id)).toMatchObject({ generation: 2, attempts: 2, result: "second" });
  });

  test("does not repeat what the database refuses for good", async () => {
    const database = interposed(db.database, async (call) => {
      const [outcome] = (call.args.p_outcomes ?? []) as { result?: unknown }[];
      if (outcome?.result === "odd") throw Object.assign(new Error("no"), { code: "22P05" });
      return call.go();
    });
    const leasehold = client(
      database,
      handle(job, () => "odd"),
    );
    await leasehold.enqueue(job);
    const report = await leasehold.drain();
    expect(report).toMatchObject({ completed: 1 });
    expect(await rowOf(db, report.jobs[0]?.id ?? "")).toMatchObject({ result: null });
    expect(leasehold.toldOf("completed")).toMatchObject([{ resultDropped: "no" }]);
    expect(database.calls.filter((name) => name === "finish_many")).toHaveLength(2);
  });

  test("works with a pool of one connection that its handlers share (S26)", async () => {
    const { default: pg } = await import("pg");
    const { pg: leaseholdPg } = await import("../../src/pg/index.ts");
    const pool = new pg.Pool({ connectionString: db.url, max: 1 });
    const leasehold = client(
      leaseholdPg(pool),
      handle(job, async (own) => {
        await pool.query("select 1");
        await own.progress("half");
        return own.transaction((tx) => tx.query("select 1").then(() => "done"));
      }),
    );
    await leasehold.enqueueMany(Array.from({ length: 20 }, () => ({ job })));
    const reports = await Promise.all([1, 2].map(() => leasehold.drain({ maxJobs: 20 })));
    expect(reports.reduce((sum, report) => sum + report.completed, 0)).toBe(20);
    await pool.end();
  });
});

describe("a drain on a PGlite that a transaction of the user's keeps busy", () => {
  test("keeps its result and records it when the session is free", async () => {
    const db = await openTestDatabase("pglite");
    const busy = deferred();
    const held = deferred();
    const impatient = pglite(db.pglite, { busyTimeoutMs: 150 });
    const database = interposed(impatient, async (call) => {
      try {
        return await call.go();
      } catch (error) {
        expect(error).toMatchObject({ code: "LH108" });
        busy.resolve();
        throw error;
      }
    });
    let transaction: Promise<unknown> | undefined;
    const leasehold = client(
      database,
      handle(job, async () => {
        const began = deferred();
        transaction = db.pglite.transaction(async () => {
          began.resolve();
          await held.promise;
        });
        await began.promise;
        return "kept";
      }),
    );
    await leasehold.enqueue(job);
    void busy.promise.then(() => held.resolve());
    const report = await leasehold.drain();
    await transaction;
    expect(report).toMatchObject({ completed: 1, unrecorded: 0 });
    expect((await rowOf(db, report.jobs[0]?.id ?? "")).result).toBe("kept");
    await db.close();
  });
});
