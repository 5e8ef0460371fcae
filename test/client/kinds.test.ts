import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { client, counts, recorded, rowOf } from "../drain/support/client.ts";
import { failing, interposed } from "../drain/support/interposed.ts";
import { age, ageAll } from "../support/ageing.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

const nothing = () => undefined;
const minute = 60_000;

describe("the kinds of a client", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase("postgres");
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  const kind = async (name: string) =>
    (await db.query(`select * from ${db.quotedSchema}.kinds where kind = $1`, [name]))[0];

  test("are told to the database once, however many drains there are", async () => {
    const database = interposed(db.database, (call) => call.go());
    const leasehold = client(
      database,
      handle(defineJob("a", { lease: "2m", backoff: ["1s", 5] }), nothing),
      handle(
        defineJob("b", { maxAttempts: 2, timeout: "3s", startWithin: 7, retain: "1d" }),
        nothing,
      ),
    );
    await Promise.all([leasehold.drain(), leasehold.drain()]);
    await leasehold.drain();
    expect(database.calls.filter((name) => name === "define_kind")).toHaveLength(2);
    expect(await kind("a")).toMatchObject({ lease_ms: 120_000, backoff_ms: [1_000, 5] });
    expect(await kind("a")).toMatchObject({ max_attempts: null, timeout_ms: null });
    expect(await kind("b")).toMatchObject({ max_attempts: 2, timeout_ms: 3_000 });
    expect(await kind("b")).toMatchObject({ start_within_ms: 7, retain_ms: 86_400_000 });
  });

  test("an option that a later version drops is the library's default again", async () => {
    await client(db.database, handle(defineJob("a", { lease: "2m" }), nothing)).drain();
    await client(db.database, handle(defineJob("a"), nothing)).drain();
    expect(await kind("a")).toMatchObject({ lease_ms: null });
  });

  test("are told again by the next drain where the database was away", async () => {
    const database = failing(db.database, "define_kind");
    const leasehold = client(database, handle(defineJob("a", { lease: "2m" }), nothing));
    await expect(leasehold.drain()).rejects.toThrow("Connection terminated");
    expect(await leasehold.drain()).toMatchObject({ reason: "empty" });
    expect(await kind("a")).toMatchObject({ lease_ms: 120_000 });
    expect(database.calls.filter((name) => name === "define_kind")).toHaveLength(2);
  });

  test("give the claim its lease, the failure its backoff, and the drain its timeout", async () => {
    const job = defineJob("a", { lease: "7s", backoff: ["10s", "20s"], timeout: "50s" });
    let running: Record<string, unknown> = {};
    const leasehold = client(
      db.database,
      handle(job, async ({ id }) => {
        running = await rowOf(db, id);
        throw new Error("again");
      }),
    );
    const answer = await leasehold.enqueue(job, {});
    const id = "id" in answer ? answer.id : "";
    for (const backoffMs of [10_000, 20_000, 20_000]) {
      expect(await leasehold.drain()).toMatchObject({ retried: 1 });
      expect(running).toMatchObject({ status: "running", lease_ms: 7_000 });
      const { run_after: due } = await rowOf(db, id);
      const waitMs = due - (running.claimed_at as Date).getTime();
      expect(waitMs).toBeGreaterThanOrEqual(backoffMs);
      expect(waitMs).toBeLessThan(backoffMs * 1.05 + 5_000);
      await age(db, id, backoffMs * 2);
    }
  });
});

describe("housekeeping after a drain", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase("postgres");
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  const short = defineJob("short", { retain: "1h" });
  const kept = defineJob("kept");

  test("deletes what is past its retain, at most once a minute among all clients", async () => {
    const clients = [1, 2].map(() =>
      recorded({
        database: db.database,
        handlers: [handle(short, nothing), handle(kept, nothing)],
      }),
    );
    const [one, two] = clients as [(typeof clients)[0], (typeof clients)[0]];
    const finish = async () => {
      await one.enqueueMany([{ job: short }, { job: short }, { job: kept }]);
      expect(await one.drain()).toMatchObject({ completed: 3 });
    };
    await finish(); // the first drain of all prunes, and finds nothing
    await ageAll(db, "jobs", 61 * minute);
    await two.drain();
    expect(await counts(db)).toEqual({ completed: 3 });
    await ageAll(db, "ticks", minute + 1);
    await two.drain();
    expect(await counts(db)).toEqual({ completed: 1 });
    await finish();
    await ageAll(db, "jobs", 61 * minute);
    await Promise.all(clients.map((each) => each.drain()));
    expect(await counts(db)).toEqual({ completed: 4 });
  });

  test("that fails is told by one event, and the drain's report is as ever", async () => {
    const leasehold = recorded({
      database: failing(db.database, "every"),
      handlers: [handle(short, nothing)],
    });
    await leasehold.enqueue(short);
    expect(await leasehold.drain()).toMatchObject({ reason: "empty", completed: 1 });
    expect(leasehold.toldOf("error")).toMatchObject([{ during: "housekeeping" }]);
    expect(leasehold.toldOf("drained")).toHaveLength(1);
  });
});
