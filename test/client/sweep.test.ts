import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Database } from "../../src/database.ts";
import { createLeasehold, defineJob, type Leasehold, type Logger } from "../../src/index.ts";
import { deferred, recorded, until } from "../drain/support/client.ts";
import { connectionLost, failing, interposed, untouchable } from "../drain/support/interposed.ts";
import { unhandledRejections } from "../drain/support/unhandled.ts";
import { age, ageAll } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";

const minute = 60_000;
const job = defineJob("job");

/** The database, and what is asked of it. */
const seen = (database: Database) => interposed(database, (call) => call.go());
const countOf = ({ calls }: { calls: readonly string[] }, name: string) =>
  calls.filter((each) => each === name).length;

/** The clock by which a process remembers when it last asked. */
function passHere(ms: number): void {
  const now = performance.now() + ms;
  vi.spyOn(performance, "now").mockReturnValue(now);
}
afterEach(() => vi.restoreAllMocks());

describe.each(backends)("sweep on %s", (backend) => {
  let db: TestDatabase;
  const open: Leasehold[] = [];
  const client = (database: Database = db.database, logger?: Logger) => {
    const made = recorded({ database, housekeeping: false, ...(logger && { logger }) });
    open.push(made);
    return made;
  };
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
  });
  afterAll(() => db.close());
  const unhandled = unhandledRejections();

  test("answers at once, and runs afterwards", async () => {
    const ran = deferred();
    expect(client().sweep("old tiles", "1m", () => ran.resolve())).toBeUndefined();
    await ran.promise;
  });

  test("runs once an interval over all clients, and a storm asks the database once a client", async () => {
    const databases = [seen(db.database), seen(db.database), seen(db.database)];
    const clients = databases.map((database) => client(database));
    const run = vi.fn();
    for (let i = 0; i < 1_000; i++) for (const each of clients) each.sweep("s", "1m", run);
    await Promise.all(clients.map((each) => each.close()));
    expect(run).toHaveBeenCalledTimes(1);
    for (const { calls } of databases) expect(calls).toEqual(["every"]);
  });

  test("runs again in the next interval, and not before", async () => {
    const database = seen(db.database);
    const own = client(database);
    const run = vi.fn();
    own.sweep("s", "1m", run);
    await until(() => run.mock.calls.length === 1, "the first");
    await ageAll(db, "ticks", minute);
    passHere(minute - 1_000);
    own.sweep("s", "1m", run);
    expect(database.calls).toHaveLength(1);
    passHere(minute);
    own.sweep("s", "1m", run);
    own.sweep("s", "1m", run);
    await own.close();
    expect(run).toHaveBeenCalledTimes(2);
    expect(database.calls).toHaveLength(2);
  });

  test("names are apart, and one that is still running is not begun again", async () => {
    const gate = deferred();
    const own = client();
    const slow = vi.fn(() => gate.promise);
    const other = vi.fn();
    own.sweep("slow", "1m", slow);
    own.sweep("other", "1m", other);
    await until(() => slow.mock.calls.length + other.mock.calls.length === 2, "both");
    await ageAll(db, "ticks", minute);
    passHere(minute);
    own.sweep("slow", "1m", slow);
    own.sweep("other", "1m", other);
    await until(() => other.mock.calls.length === 2, "the other again");
    gate.resolve();
    await own.close();
    expect(slow).toHaveBeenCalledTimes(1);
  });

  test.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken"))],
  ])("one that %s is told by the event and the log, and nobody is hurt", async (_, run) => {
    const lines: unknown[] = [];
    const note = (fields: object, message: string) => lines.push({ ...fields, message });
    const logger: Logger = { debug: note, info: note, warn: note, error: note };
    const own = client(db.database, logger);
    own.sweep("s", "1m", run);
    await until(() => own.told.length === 1, "the event");
    expect(own.toldOf("error")).toMatchObject([{ during: "sweep", error: { message: "broken" } }]);
    expect(lines).toMatchObject([
      { sweep: "s", err: { message: "broken" }, message: "a sweep failed" },
    ]);
    expect(unhandled).toEqual([]);
  });

  test("where the database is away, that is told, and it is asked again ten seconds later", async () => {
    const database = failing(db.database, "every");
    const own = client(database);
    const run = vi.fn();
    own.sweep("s", "1h", run);
    await until(() => own.told.length === 1, "the event");
    expect(own.toldOf("error")).toMatchObject([{ during: "sweep", error: { code: "ECONNRESET" } }]);
    own.sweep("s", "1h", run);
    expect(database.calls).toHaveLength(1);
    passHere(10_000);
    own.sweep("s", "1h", run);
    await until(() => run.mock.calls.length === 1, "the sweep");
  });

  test("close waits for one that is under way, begins none afterwards, and tells of no failure", async () => {
    const [begun, gate] = [deferred(), deferred()];
    const own = client();
    own.sweep("s", "1m", async () => {
      begun.resolve();
      await gate.promise;
      throw new Error("too late");
    });
    await begun.promise;
    let closed = false;
    const closing = own.close().then(() => {
      closed = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(closed).toBe(false);
    own.sweep("another", "1m", () => expect.unreachable());
    gate.resolve();
    await closing;
    expect(own.told).toEqual([]);
    expect(
      await db.query(`select name from ${db.quotedSchema}.ticks where name = 'another'`),
    ).toEqual([]);
  });
});

describe("sweep refuses", () => {
  const leasehold = createLeasehold({ database: untouchable });
  const run = () => undefined;
  test.each<[string, unknown[], string]>([
    ["a blank name", [" ", "1m", run], "LH002"],
    ["a name that is no text", [1, "1m", run], "LH002"],
    ["a long name", ["x".repeat(501), "1m", run], "LH004"],
    ["a name of the library's", ["leasehold.prune", "1m", run], "LH002"],
    ["no interval", ["s", undefined, run], "LH002"],
    ["an interval of nothing", ["s", 0, run], "LH002"],
    ["nothing to run", ["s", "1m"], "LH002"],
  ])("%s at once", (_, values, code) => {
    const [name, every, fn] = values as Parameters<Leasehold["sweep"]>;
    expect(() => leasehold.sweep(name, every, fn)).toThrow(expect.objectContaining({ code }));
  });
});

describe.each(backends)("housekeeping by traffic on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());
  const count = (what: string) => db.value(`select count(*) from ${db.quotedSchema}.${what}`);
  const enqueued = async (leasehold: Leasehold) => {
    const answer = await leasehold.enqueue(job);
    if (answer.outcome !== "created") throw new Error(answer.outcome);
    return answer.id;
  };

  test("alone deletes what is over and takes back what the dead left", async () => {
    const quiet = recorded({ database: db.database, housekeeping: false });
    const [old, dead, mine] = [await enqueued(quiet), await enqueued(quiet), await enqueued(quiet)];
    await db.database.call("define_kind", { p_kind: "job", p_defaults: { retain_ms: minute } });
    await quiet.cancel(old);
    await age(db, old, 2 * minute);
    await db.database.call("claim_job", { p_id: dead, p_lease_ms: 1_000 });
    await age(db, dead, minute);
    await quiet.singleFlight("k", { ttl: "1s", shared: true }, () => "tile");
    await ageAll(db, "cache", minute);
    await quiet.enqueue(job, {}, { once: "o", onceFor: "1s" });
    await ageAll(db, "once", minute);

    const leasehold = recorded({ database: db.database });
    const cleaned = async () => {
      await leasehold.status(mine);
      return (
        (await count("cache")) + (await count("once")) === 0 &&
        (await count(`jobs where id = '${old}'`)) === 0 &&
        (await count(`jobs where id = '${dead}' and status = 'queued'`)) === 1
      );
    };
    await until(cleaned, "cleaned by the calls of status alone");
    await leasehold.close();
    expect(leasehold.told).toEqual([]);
  });

  test.each<[string, (leasehold: Leasehold) => Promise<unknown>]>([
    ["status", (leasehold) => leasehold.status("0198a0b4-0000-7000-8000-000000000000")],
    ["enqueue", (leasehold) => leasehold.enqueue(job)],
    ["enqueueMany", (leasehold) => leasehold.enqueueMany([{ job }])],
    ["singleFlight", (own) => own.singleFlight("k", { ttl: 1_000, shared: true }, () => 1)],
  ])("%s starts it once it has its answer, and a storm of them once", async (_, act) => {
    const database = seen(db.database);
    const leasehold = createLeasehold({ database });
    for (let i = 0; i < 20; i++) await act(leasehold);
    await leasehold.close();
    expect(countOf(database, "every")).toBe(2);
    expect([countOf(database, "prune"), countOf(database, "reap")]).toEqual([1, 1]);
  });

  test("deletes all that is past its time, a thousand jobs a call", async () => {
    await db.database.call("define_kind", { p_kind: "old", p_defaults: { retain_ms: 1_000 } });
    await db.query(
      `insert into leasehold.jobs (id, kind, status, finished_at)
       select gen_random_uuid(), 'old', 'completed', clock_timestamp() - interval '1 minute'
       from generate_series(1, 2500)`,
    );
    const database = seen(db.database);
    const leasehold = createLeasehold({ database });
    await leasehold.enqueue(job);
    await until(async () => (await count("jobs where kind = 'old'")) === 0, "all deleted");
    await leasehold.close();
    expect(countOf(database, "prune")).toBe(3);
  });

  test("does it once an interval over all clients, reaps more often than it prunes", async () => {
    const databases = [seen(db.database), seen(db.database)];
    const both = async (name: string) => {
      const clients = databases.map((database) => createLeasehold({ database }));
      await Promise.all(clients.map((each) => each.enqueue(job)));
      await Promise.all(clients.map((each) => each.close()));
      return databases.reduce((sum, each) => sum + countOf(each, name), 0);
    };
    expect(await both("prune")).toBe(1);
    expect(await both("reap")).toBe(1);
    await ageAll(db, "ticks", 10_000);
    expect(await both("reap")).toBe(2);
    expect(await both("prune")).toBe(1);
    await ageAll(db, "ticks", 50_000);
    expect(await both("prune")).toBe(2);
  });

  test("makes no call wait, and fails none: what goes wrong is told", async () => {
    const gate = deferred();
    const database = interposed(db.database, async (call) => {
      if (call.name !== "every") return call.go();
      await gate.promise;
      throw connectionLost();
    });
    const leasehold = recorded({ database });
    const id = await enqueued(leasehold);
    expect(await leasehold.status(id)).toMatchObject({ status: "queued" });
    expect(countOf(database, "every")).toBe(2);
    gate.resolve();
    await until(() => leasehold.told.length === 2, "both told");
    expect(leasehold.toldOf("error")).toMatchObject([
      { during: "housekeeping" },
      { during: "housekeeping" },
    ]);
    await leasehold.close();
  });

  test("is none of what a transaction of the user's or a call that fails starts", async () => {
    const database = seen(db.database);
    const leasehold = createLeasehold({ database });
    if (backend === "postgres") {
      const tx = await db.pool.connect();
      await tx.query("begin");
      await leasehold.enqueue(job, {}, { tx });
      await leasehold.enqueueMany([{ job }], { tx });
      await tx.query("rollback");
      tx.release();
    } else {
      await db.pglite.transaction(async (tx) => {
        await leasehold.enqueue(job, {}, { tx });
        await leasehold.enqueueMany([{ job }], { tx });
      });
    }
    await expect(leasehold.enqueue(job, { n: 1n })).rejects.toMatchObject({ code: "LH103" });
    await leasehold.close();
    expect(countOf(database, "every")).toBe(0);
  });

  test("is off where the client was told so", async () => {
    const database = seen(db.database);
    const leasehold = createLeasehold({ database, housekeeping: false });
    await leasehold.enqueue(job);
    await leasehold.close();
    expect(database.calls).toEqual(["enqueue"]);
    const wrong = { database, housekeeping: "no" } as unknown as { housekeeping: boolean };
    expect(() => createLeasehold(wrong)).toThrow(expect.objectContaining({ code: "LH002" }));
  });

  test("does not wait for names of the library's, which are there from the start", async () => {
    const names = `select name from ${db.quotedSchema}.ticks order by name`;
    const library = [{ name: "leasehold.prune" }, { name: "leasehold.reap" }];
    expect(await db.query(names)).toEqual(library);
    const leasehold = createLeasehold({ database: db.database });
    await leasehold.enqueue(job);
    await leasehold.close();
    expect(await db.query(names)).toEqual(library);
  });
});
