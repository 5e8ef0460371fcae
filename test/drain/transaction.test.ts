import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Database, defineJob, handle, type Job } from "../../src/index.ts";
import { age } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { client, counts, deferred, eventsOf, rowOf, until } from "./support/client.ts";

const charge = defineJob("charge", { lease: "1m", backoff: ["1h"] });

/** What the tests use of pg's client and of PGlite's transaction. */
interface Tx {
  query(text: string, values?: unknown[]): Promise<unknown>;
}

const pay = (tx: Tx, amount: number) => tx.query("insert into public.paid values ($1)", [amount]);

describe.each(backends)("job.transaction on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
    await db.query("create table public.paid (amount int)");
  });
  beforeEach(async () => {
    await db.reset();
    await db.query("truncate public.paid");
  });
  afterAll(() => db.close());

  /** Drains one job with this handler; the report's line, the row, the client and what was paid. */
  async function run(handler: (job: Job<unknown>) => unknown, database: Database = db.database) {
    const leasehold = client(database, handle(charge, handler));
    const answer = await leasehold.enqueue(charge);
    const id = "id" in answer ? answer.id : "";
    const { jobs } = await leasehold.drain();
    const paid = (await db.query("select amount from public.paid order by 1")).map((r) => r.amount);
    return { leasehold, id, job: jobs[0], row: await rowOf(db, id), paid };
  }

  test("commits the user's writes and the completion together, its value the result", async () => {
    let value: unknown;
    const { job, row, paid } = await run(async (own) => {
      value = await own.transaction(async (tx: Tx) => {
        await pay(tx, 5);
        return { receipt: 7 };
      });
      expect(await rowOf(db, own.id)).toMatchObject({ status: "completed" });
      return "not this one";
    });
    expect(value).toEqual({ receipt: 7 });
    expect(paid).toEqual([5]);
    expect(row).toMatchObject({ status: "completed", result: { receipt: 7 } });
    expect(job).toMatchObject({ outcome: "completed" });
  });

  test("rolls both back when its function throws, and the attempt fails by that", async () => {
    const { job, row, paid } = await run((own) =>
      own.transaction(async (tx: Tx) => {
        await pay(tx, 5);
        throw Object.assign(new Error("card refused"), { code: "CARD" });
      }),
    );
    expect(paid).toEqual([]);
    expect(row).toMatchObject({ status: "queued", attempts: 1, last_error_code: "CARD" });
    expect(job).toMatchObject({ outcome: "retried" });
  });

  test("may be tried again after it failed", async () => {
    const { row, paid } = await run(async (own) => {
      const first = own.transaction(async (tx: Tx) => {
        await pay(tx, 1);
        await tx.query("select 1 / 0");
      });
      await expect(first).rejects.toMatchObject({ code: "22012" });
      return own.transaction((tx: Tx) => pay(tx, 2));
    });
    expect(paid).toEqual([2]);
    expect(row.status).toBe("completed");
  });

  test("completes the job whatever the handler does afterwards", async () => {
    const { job, row, paid, leasehold } = await run(async (own) => {
      await own.transaction((tx: Tx) => pay(tx, 5).then(() => undefined));
      await expect(own.transaction((tx: Tx) => pay(tx, 6))).rejects.toMatchObject({
        code: "LH002",
        message: expect.stringContaining("called again after it had completed job"),
      });
      expect(await own.extend()).toBe(false);
      own.release();
    });
    expect(paid).toEqual([5]);
    expect(row).toMatchObject({ status: "completed", result: null, releases: 0 });
    expect(job).toMatchObject({ outcome: "completed" });
    expect(leasehold.told.map(({ name }) => name)).toEqual(["started", "completed", "drained"]);
  });

  test("of a stale worker rejects with LH001, and nothing that it wrote is there", async () => {
    let because: unknown;
    let ran = false;
    const { job, row, paid, id } = await run(async (own) => {
      await age(db, own.id, 61_000);
      await db.database.call("claim", { p_kinds: ["charge"] });
      const stale = own.transaction(async (tx: Tx) => {
        ran = true;
        await pay(tx, 5);
      });
      await expect(stale).rejects.toMatchObject({ code: "LH001", name: "LeaseLostError" });
      because = own.signal.reason.because;
    });
    expect(ran).toBe(false);
    expect(paid).toEqual([]);
    expect(because).toBe("lost");
    expect(job).toMatchObject({ outcome: "lost" });
    expect(row).toMatchObject({ status: "running", generation: 2 });
    expect((await eventsOf(db, id)).filter(({ event }) => event === "reaped")).toHaveLength(1);
  });

  test("of a claim that ran out but nobody took is still good", async () => {
    const { row, paid } = await run(async (own) => {
      await age(db, own.id, 61_000);
      await own.transaction((tx: Tx) => pay(tx, 5));
    });
    expect(paid).toEqual([5]);
    expect(row).toMatchObject({ status: "completed", generation: 1 });
  });

  test("drops a result that can't be stored, commits the rest, and says so", async () => {
    const { row, paid, id, leasehold } = await run((own) =>
      own.transaction(async (tx: Tx) => {
        await pay(tx, 5);
        return { big: 1n };
      }),
    );
    expect(paid).toEqual([5]);
    expect(row).toMatchObject({ status: "completed", result: null });
    expect(await eventsOf(db, id)).toMatchObject([
      { event: "result_dropped", code: "RESULT_DROPPED" },
    ]);
    expect(leasehold.toldOf("completed")).toMatchObject([
      { resultDropped: expect.stringMatching(/^result\.big is 1n/) },
    ]);
  });

  test("can enqueue what follows, in the same transaction", async () => {
    const next = defineJob("receipt");
    const { leasehold, row } = await run((own) =>
      own.transaction(async (tx: Tx) => {
        await client(db.database).enqueue(next, {}, { tx: tx as never });
      }),
    );
    expect(row.status).toBe("completed");
    expect(leasehold.toldOf("completed")).toHaveLength(1);
    expect(await counts(db)).toEqual({ completed: 1, queued: 1 });
  });

  test("is refused where the database can't hold a transaction open (LH104)", async () => {
    const { schema, call } = db.database;
    const { row } = await run(
      async (own) => {
        await expect(own.transaction(() => 1)).rejects.toMatchObject({ code: "LH104" });
        return "without";
      },
      { schema, call },
    );
    expect(row).toMatchObject({ status: "completed", result: "without" });
  });
});

describe("job.transaction", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase("postgres");
    await db.query("create table public.paid (amount int)");
  });
  beforeEach(async () => {
    await db.reset();
    await db.query("truncate public.paid");
  });
  afterAll(() => db.close());

  test("keeps every rival away while it works, and the lease is renewed as soon as it failed", async () => {
    const leasehold = client(
      db.database,
      handle(defineJob("charge", { lease: 400 }), async (own) => {
        const claim = () => db.database.call("claim", { p_kinds: ["charge"] });
        const failed = own.transaction(async (tx: Tx) => {
          await tx.query("select pg_sleep(0.5)"); // a statement that outlasts the lease
          expect(await claim()).toEqual([]);
          throw new Error("no");
        });
        await expect(failed).rejects.toThrow("no");
        expect((await rowOf(db, own.id)).lease_until.getTime()).toBeGreaterThan(Date.now());
        expect(await claim()).toEqual([]);
        return own.transaction(() => "second");
      }),
    );
    await leasehold.enqueue(charge);
    expect(await leasehold.drain()).toMatchObject({ completed: 1, lost: 0 });
  });

  test("that idles for longer than the lease loses its connection and the job, and writes nothing", async () => {
    const leasehold = client(
      db.database,
      handle(defineJob("charge", { lease: 200 }), (own) =>
        own.transaction(async (tx: Tx) => {
          await tx.query("insert into public.paid values (1)");
          const rival = () =>
            db.database.call("claim", { p_kinds: ["charge"], p_lease_ms: 60_000 });
          await until(async () => ((await rival()) as unknown[]).length > 0, "the rival's claim");
        }),
      ),
    );
    await leasehold.enqueue(charge);
    expect(await leasehold.drain()).toMatchObject({ lost: 1 });
    expect(await db.query("select amount from public.paid")).toEqual([]);
  });

  test("that loses its connection is not the end: the handler may try again (S07)", async () => {
    const leasehold = client(
      db.database,
      handle(charge, async (own) => {
        const broken = own.transaction(async (tx: Tx) => {
          await tx.query("insert into public.paid values (1)");
          await db.query(
            `select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and state = 'idle in transaction'`,
          );
        });
        await expect(broken).rejects.toThrow();
        expect(own.signal.aborted).toBe(false);
        return own.transaction((tx: Tx) => tx.query("insert into public.paid values (2)"));
      }),
    );
    await leasehold.enqueue(charge);
    expect(await leasehold.drain()).toMatchObject({ completed: 1 });
    expect(await db.query("select amount from public.paid")).toEqual([{ amount: 2 }]);
  });

  test("twice at once completes the job once", async () => {
    const both = deferred();
    let settled: string[] = [];
    const leasehold = client(
      db.database,
      handle(charge, async (own) => {
        const one = own.transaction(async () => both.promise);
        const two = own.transaction(() => undefined);
        both.resolve();
        settled = (await Promise.allSettled([one, two])).map(({ status }) => status);
      }),
    );
    await leasehold.enqueue(charge);
    expect(await leasehold.drain()).toMatchObject({ completed: 1 });
    expect(settled.sort()).toEqual(["fulfilled", "rejected"]);
  });
});
