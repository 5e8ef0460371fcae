import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { age } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { aborted, client, eventsOf, rowOf, until } from "./support/client.ts";
import { connectionLost, failing, interposed } from "./support/interposed.ts";

describe.each(backends)("the lease on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  test("renews itself while the handler runs: a rival that claims in a loop never gets the job (S05)", async () => {
    // A machine that stalls for two thirds of a lease loses it, and rightly: 300 ms were too few.
    const leaseMs = 900;
    const job = defineJob("long", { lease: leaseMs });
    let running = true;
    let claimed = 0;
    const rival = async () => {
      for (; running; await setImmediate()) {
        claimed += ((await db.database.call("claim", { p_kinds: ["long"] })) as unknown[]).length;
      }
    };
    const leasehold = client(
      db.database,
      handle(job, async () => {
        const began = performance.now();
        const rivalry = rival();
        await until(() => performance.now() - began > 3 * leaseMs, "three leases");
        running = false;
        await rivalry;
      }),
    );
    await leasehold.enqueue(job);
    const report = await leasehold.drain();
    expect(report).toMatchObject({ completed: 1 });
    expect(claimed).toBe(0);
    expect(await rowOf(db, report.jobs[0]?.id ?? "")).toMatchObject({ generation: 1, attempts: 1 });
  });

  test("extend answers true and moves lease_until, then false once another claim owns the job", async () => {
    const job = defineJob("long", { lease: "1m" });
    const answers: boolean[] = [];
    const leasehold = client(
      db.database,
      handle(job, async (own) => {
        await age(db, own.id, 30_000);
        const before = await rowOf(db, own.id);
        answers.push(await own.extend());
        const after = await rowOf(db, own.id);
        expect(after.lease_until - before.lease_until).toBeGreaterThan(25_000);
        await age(db, own.id, 61_000);
        answers.push(await own.extend()); // it ran out, but nobody took it
        await age(db, own.id, 61_000);
        await db.database.call("claim", { p_kinds: ["long"] });
        expect(own.signal.aborted).toBe(false);
        answers.push(await own.extend());
        expect(own.signal.reason).toMatchObject({ because: "lost" });
        answers.push(await own.progress("late"));
      }),
    );
    await leasehold.enqueue(job);
    const report = await leasehold.drain();
    expect(report).toMatchObject({ lost: 1 });
    expect(answers).toEqual([true, true, false, false]);
    expect((await rowOf(db, report.jobs[0]?.id ?? "")).progress).toBeNull();
  });

  test("progress is seen by status while the handler runs", async () => {
    const job = defineJob("long");
    const seen: unknown[] = [];
    const leasehold = client(
      db.database,
      handle(job, async (own) => {
        for (const value of [{ step: 1, of: 3 }, "half", 0, [null], false]) {
          expect(await own.progress(value)).toBe(true);
          seen.push((await leasehold.status(own.id))?.progress);
        }
        await expect(own.progress(1n)).rejects.toMatchObject({ code: "LH103" });
        await expect(own.progress("a\0")).rejects.toThrow(/^progress is text with a NUL/);
        await expect(own.progress("x".repeat(2 ** 20))).rejects.toMatchObject({ code: "LH004" });
      }),
    );
    await leasehold.enqueue(job);
    expect(await leasehold.drain()).toMatchObject({ completed: 1 });
    expect(seen).toEqual([{ step: 1, of: 3 }, "half", 0, [null], false]);
  });
});

describe("the lease", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase("postgres");
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());
  const job = defineJob("long", { lease: 150 });

  test("outlives renewals that fail, each told by an event", async () => {
    const database = failing(db.database, "extend", 2);
    const leasehold = client(
      database,
      handle(job, () => until(() => database.calls.filter((c) => c === "extend").length > 3, "3")),
    );
    const answer = await leasehold.enqueue(job);
    expect(await leasehold.drain()).toMatchObject({ completed: 1, lost: 0 });
    const told = { during: "extend", error: connectionLost(), id: "id" in answer && answer.id };
    expect(leasehold.toldOf("error")).toEqual([told, told]);
  });

  test("extend and progress reject where the database can't be asked, and are no lost claim", async () => {
    const leasehold = client(
      failing(db.database, "extend", 2),
      handle(defineJob("long"), async (own) => {
        await expect(own.extend()).rejects.toMatchObject({ code: "ECONNRESET" });
        await expect(own.progress(1)).rejects.toMatchObject({ code: "ECONNRESET" });
        expect(own.signal.aborted).toBe(false);
        expect(await own.extend()).toBe(true);
      }),
    );
    await leasehold.enqueue(job);
    expect(await leasehold.drain()).toMatchObject({ completed: 1 });
    expect(leasehold.toldOf("error")).toEqual([]);
  });

  test("is asked about one extend at a time, and not any more once the handler is done", async () => {
    let [under, most] = [0, 0];
    const database = interposed(db.database, async (call) => {
      if (call.name !== "extend") return call.go();
      under += 1;
      most = Math.max(most, under);
      return call.go().finally(() => {
        under -= 1;
      });
    });
    const leasehold = client(
      database,
      handle(job, async (own) => {
        await Promise.all([own.extend(), own.progress(1), own.progress(2), own.extend()]);
        const calls = () => database.calls.filter((name) => name === "extend").length;
        await until(() => calls() > 6, "renewals");
      }),
    );
    const answer = await leasehold.enqueue(job);
    await leasehold.drain();
    expect(most).toBe(1);
    const calls = database.calls.length;
    const began = performance.now();
    await until(() => performance.now() - began > 120, "two renewals more");
    expect(database.calls).toHaveLength(calls);
    expect(await rowOf(db, "id" in answer ? answer.id : "")).toMatchObject({ progress: 2 });
  });

  test("that a renewal found busy is renewed soon after, not a third of its length later", async () => {
    const asked: number[] = [];
    const session = await db.connect();
    const database = interposed(db.database, async (call) => {
      if (call.name !== "extend") return call.go();
      asked.push(performance.now());
      const answer = await call.go();
      expect(answer).toMatchObject({ held: true, busy: call.nth === 1 });
      if (call.nth === 1) await session.commit();
      return answer;
    });
    const slow = defineJob("long", { lease: "3s" });
    const leasehold = client(
      database,
      handle(slow, async ({ id }) => {
        await session.begin();
        const lock = `select from ${db.quotedSchema}.jobs where id = $1 for no key update`;
        await session.query(lock, [id]);
        await until(() => asked.length > 1, "the second renewal");
      }),
    );
    await leasehold.enqueue(slow);
    expect(await leasehold.drain()).toMatchObject({ completed: 1 });
    const [busyAt = 0, againAt = 0] = asked;
    expect(againAt - busyAt).toBeLessThan(990);
    await session.close();
  });

  test("of a handler whose own guard says that it is lost ends the attempt as lost", async () => {
    const leasehold = client(
      db.database,
      handle(defineJob("long"), async ({ id, generation, signal }) => {
        await age(db, id, 301_000);
        await db.database.call("claim", { p_kinds: ["long"] });
        expect(signal.aborted).toBe(false);
        // As an ORM would tell it: the driver's error, with LH001 as its SQLSTATE, wrapped.
        const cause = await db
          .query(`select ${db.quotedSchema}.guard($1, $2)`, [id, generation])
          .catch((error: unknown) => error);
        expect(cause).toMatchObject({ code: "LH001" });
        throw new Error("query failed", { cause });
      }),
    );
    const answer = await leasehold.enqueue(job);
    expect(await leasehold.drain()).toMatchObject({ lost: 1, retried: 0 });
    const events = await eventsOf(db, "id" in answer ? answer.id : "");
    expect(events.map(({ event }) => event)).toEqual(["reaped", "refused"]);
    expect(events[1]?.detail).toMatchObject({ action: "extend" });
  });

  test("that is lost while the job has ended is told as well", async () => {
    const leasehold = client(
      db.database,
      handle(job, async ({ id, signal }) => {
        await db.query(
          `update ${db.quotedSchema}.jobs set status = 'failed', lease_until = null,
             finished_at = now() where id = $1`,
          [id],
        );
        expect(await aborted(signal)).toMatchObject({ because: "lost" });
      }),
    );
    await leasehold.enqueue(job);
    expect(await leasehold.drain()).toMatchObject({ lost: 1 });
  });
});
