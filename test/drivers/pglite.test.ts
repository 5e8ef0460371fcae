import type { PGlite, Transaction } from "@electric-sql/pglite";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../src/database.ts";
import { pglite } from "../../src/pglite/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

let test: TestDatabase;
let db: PGlite;

beforeAll(async () => {
  test = await openTestDatabase("pglite");
  db = test.pglite;
});
afterAll(() => test.close());
beforeEach(() => test.reset());

const enqueue = (to: Pick<Database, "call">, kind = "k"): Promise<unknown> =>
  to.call("enqueue", { p_kind: kind });

const kinds = (): Promise<string[]> =>
  test.value("select coalesce(array_agg(kind order by id), '{}') from leasehold.jobs");

/** A promise that resolves when told. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe("a call on the main object inside the application's db.transaction()", () => {
  it("rejects after busyTimeoutMs with an error that explains { tx }, and never runs (S47)", async () => {
    const database = pglite(db, { busyTimeoutMs: 20 });
    const inside = db.transaction(async (tx) => {
      await tx.query("select leasehold.enqueue('with_tx')");
      await enqueue(database, "without_tx");
    });
    await expect(inside).rejects.toMatchObject({ name: "DatabaseError", code: "LH108" });
    await expect(inside).rejects.toThrow(/one session.*20 ms.*has not run.*as \{ tx \}/s);

    await enqueue(database, "afterwards");
    expect(await kinds()).toEqual(["afterwards"]);
  });

  it("leaves the transaction whole when it is caught there", async () => {
    const database = pglite(db, { busyTimeoutMs: 20 });
    await db.transaction(async (tx) => {
      await enqueue(database, "without_tx").catch(() => undefined);
      await tx.query("select leasehold.enqueue('with_tx')");
    });
    expect(await kinds()).toEqual(["with_tx"]);
  });

  it("never runs a transaction or a script that gave up either", async () => {
    const database = pglite(db, { busyTimeoutMs: 20 });
    let ran = false;
    await db.transaction(async () => {
      const work = database.transaction(async (tx) => {
        ran = true;
        await enqueue(tx);
      });
      await expect(work).rejects.toMatchObject({ code: "LH108" });
      const script = database.script("select leasehold.enqueue('script')");
      await expect(script).rejects.toMatchObject({ code: "LH108" });
    });
    await enqueue(database, "afterwards");
    expect(ran).toBe(false);
    expect(await kinds()).toEqual(["afterwards"]);
  });

  it("rejects many calls that wait at once within one limit, not one after the other", async () => {
    const database = pglite(db, { busyTimeoutMs: 200 });
    const began = performance.now();
    await db.transaction(async () => {
      const calls: Promise<unknown>[] = [];
      for (let i = 0; i < 6; i++) {
        calls.push(enqueue(database));
        await new Promise(setImmediate);
      }
      const answers = await Promise.allSettled(calls);
      expect(answers.map(({ status }) => status)).toEqual(calls.map(() => "rejected"));
    });
    expect(performance.now() - began).toBeLessThan(800);
  });

  it("also rejects inside db.runExclusive()", async () => {
    const database = pglite(db, { busyTimeoutMs: 20 });
    const inside = db.runExclusive(() => enqueue(database));
    await expect(inside).rejects.toMatchObject({ code: "LH108" });
    expect(await kinds()).toEqual([]);
  });
});

describe("calls beside a transaction", () => {
  it("wait for it and then run", async () => {
    const database = pglite(db);
    const { opened, open } = gate();
    const order: string[] = [];
    const transaction = db.transaction(async (tx: Transaction) => {
      await opened;
      await tx.query("select leasehold.enqueue('in_tx')");
      order.push("transaction");
    });
    const calls = [1, 2, 3].map(() => enqueue(database, "beside").then(() => order.push("call")));
    open();
    await Promise.all([transaction, ...calls]);
    expect(order).toEqual(["transaction", "call", "call", "call"]);
    expect(await kinds()).toEqual(["in_tx", "beside", "beside", "beside"]);
  });

  it("are not given up as long as the queue moves, however long it is", async () => {
    const database = pglite(db, { busyTimeoutMs: 1_000 });
    const began = performance.now();
    let done = 0;
    const calls: Promise<unknown>[] = [];
    // Twice the limit of work at least, all of it asked for at the beginning.
    const hold = (): Promise<void> =>
      database.transaction(async (tx) => {
        const end = performance.now() + 20;
        while (performance.now() < end) {
          await tx.call("reap", {});
          await new Promise(setImmediate); // lets the timers of those who wait run
        }
        done += 1;
      });
    for (let i = 0; i < 100; i++) calls.push(hold());
    await Promise.all(calls);
    expect(done).toBe(100);
    expect(performance.now() - began).toBeGreaterThan(2_000);
  });
});

describe("a call on the main object inside leasehold's own transaction", () => {
  it("is rejected at once, and the transaction goes on", async () => {
    const database = pglite(db, { busyTimeoutMs: 5_000 });
    await database.transaction(async (tx) => {
      await expect(enqueue(database)).rejects.toThrow(/awaits a call outside.*as \{ tx \}/);
      await expect(database.transaction(enqueue)).rejects.toMatchObject({ code: "LH108" });
      await enqueue(tx, "with_tx");
    });
    expect(await kinds()).toEqual(["with_tx"]);
  });

  it("is told through another database object over the same PGlite as well", async () => {
    const [database, other] = [pglite(db), pglite(db)];
    await database.transaction(async () => {
      await expect(enqueue(other)).rejects.toThrow(/as \{ tx \}/);
    });
  });

  it("is fine from what the transaction started, once it has ended", async () => {
    const database = pglite(db);
    const { opened, open } = gate();
    const after = await database.transaction(async () => ({
      call: opened.then(() => enqueue(database, "later")),
    }));
    open();
    await after.call;
    expect(await kinds()).toEqual(["later"]);
  });
});

describe("pglite()", () => {
  it("leaves the application's PGlite open", async () => {
    await pglite(db).close();
    expect(db.closed).toBe(false);
  });

  it("keeps to its own readers of types", async () => {
    const own = db.parsers;
    db.parsers = new Proxy(own, { get: () => (text: string) => `own ${text}` });
    try {
      await enqueue(pglite(db));
      const jobs = await pglite(db).call("claim", { p_kinds: ["k"] });
      expect(jobs).toMatchObject([{ attempts: 1, payload: {} }]);
    } finally {
      db.parsers = own;
    }
  });

  it.each([undefined, null, 7, "", {}, "idb://data", "postgres://host/db", { query: 1 }])(
    "refuses %s and lists what it takes",
    (value) => {
      expect(() => pglite(value as never)).toThrow(/a PGlite, the path of a folder, or "memory:/);
    },
  );

  it.each([-1, Number.NaN, "1s", 2 ** 31])("refuses a busyTimeoutMs of %s", (busyTimeoutMs) => {
    expect(() => pglite(db, { busyTimeoutMs: busyTimeoutMs as number })).toThrow(/busyTimeoutMs/);
  });

  it("takes a PGlite by its type", () => {
    expect(pglite(db, { schema: "jobs" }).schema).toBe("jobs");
  });
});
