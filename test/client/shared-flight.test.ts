import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Database } from "../../src/database.ts";
import type { SingleFlightOptions } from "../../src/index.ts";
import { aborted, deferred, recorded, type TestClient, until } from "../drain/support/client.ts";
import { connectionLost, interposed } from "../drain/support/interposed.ts";
import { ageAll } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";

const shared = { ttl: "1h", shared: true } as const satisfies SingleFlightOptions;

describe.each(backends)("singleFlight across clients on %s", (backend) => {
  let db: TestDatabase;
  let one: TestClient;
  let two: TestClient;
  const made = (database: Database) => recorded({ database, housekeeping: false });
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(async () => {
    await db.reset();
    [one, two] = [made(db.database), made(db.database)];
  });
  afterAll(() => db.close());
  const row = async () =>
    (await db.query(`select * from ${db.quotedSchema}.cache where key = 'k'`))[0];

  test("one loads, the others wait for it and get the stored form, the one included", async () => {
    const gate = deferred();
    const at = new Date(0);
    const load = vi.fn(async () => {
      await gate.promise;
      return { at, none: undefined };
    });
    const other = vi.fn();
    const database = interposed(db.database, (call) => call.go());
    const waits = made(database);
    const first = one.singleFlight<unknown>("k", shared, load);
    await until(() => load.mock.calls.length === 1, "the load");
    const rest = [1, 2, 3].map(() => waits.singleFlight<unknown>("k", shared, other));
    await until(() => database.calls.length >= 3, "asked again");
    gate.resolve();
    const stored = { at: "1970-01-01T00:00:00.000Z" };
    for (const value of await Promise.all([first, ...rest])) expect(value).toEqual(stored);
    expect(other).not.toHaveBeenCalled();
    expect(await two.singleFlight("k", shared, other)).toEqual(stored);
    expect(other).not.toHaveBeenCalled();
  });

  test.each([[null], [undefined]])("%o is a value", async (value) => {
    const load = vi.fn(() => value);
    expect(await one.singleFlight("k", shared, load)).toBeNull();
    expect(await two.singleFlight("k", shared, load)).toBeNull();
    expect(load).toHaveBeenCalledTimes(1);
  });

  test("a value is loaded anew when its ttl is over", async () => {
    await one.singleFlight("k", shared, () => "old");
    await ageAll(db, "cache", 3_600_001);
    expect(await two.singleFlight("k", shared, () => "new")).toBe("new");
    expect(await one.singleFlight("k", shared, () => "newer")).toBe("new");
  });

  test("a rejection is kept nowhere: the next one loads at once, in whichever client", async () => {
    const fails = () => Promise.reject(new Error("broken"));
    await expect(one.singleFlight("k", shared, fails)).rejects.toThrow("broken");
    expect(await row()).toBeUndefined();
    const database = interposed(db.database, (call) => call.go());
    expect(await made(database).singleFlight("k", shared, () => "v")).toBe("v");
    expect(database.calls).toEqual(["cache_begin", "cache_put"]);
  });

  test.each<[string, unknown, string]>([
    ["no JSON", { n: 1n }, "LH103"],
    ["too large", "x".repeat(1_048_577), "LH004"],
    ["too large as PostgreSQL writes it", Array(349_526).fill(1), "LH004"],
  ])("a value that is %s is refused, and the next one loads", async (_, value, code) => {
    await expect(one.singleFlight("k", shared, () => value)).rejects.toMatchObject({ code });
    expect(await row()).toBeUndefined();
    expect(await two.singleFlight("k", shared, () => "v")).toBe("v");
  });

  test("a load that outlives its lease is taken over, gives its waiters its value and stores none", async () => {
    const gate = deferred();
    const slow = one.singleFlight("k", { ...shared, shared: { lease: "1m" } }, async () => {
      await gate.promise;
      return "late";
    });
    await until(row, "the fill");
    await ageAll(db, "cache", 60_001);
    expect(await two.singleFlight("k", shared, () => "taken over")).toBe("taken over");
    gate.resolve();
    expect(await slow).toBe("late");
    expect(await one.singleFlight("k", shared, () => "no")).toBe("taken over");
  });

  test("an invalidation reaches every client, and what was loading before stores nothing (S48)", async () => {
    const gate = deferred();
    const before = one.singleFlight("k", shared, async () => {
      await gate.promise;
      return "before";
    });
    await until(row, "the fill");
    await two.invalidate("k", { shared: true });
    expect(await two.singleFlight("k", shared, () => "after")).toBe("after");
    gate.resolve();
    expect(await before).toBe("before");
    for (const each of [one, two]) {
      expect(await each.singleFlight("k", shared, () => "no")).toBe("after");
    }
    await one.invalidate("k", { shared: true });
    expect(await two.singleFlight("k", shared, () => "newer")).toBe("newer");
  });

  test("what asked while an invalidation was on its way is joined by nobody afterwards", async () => {
    await one.singleFlight("k", shared, () => "old");
    const [asked, go, read, answer] = [deferred(), deferred(), deferred(), deferred()];
    const client = made(
      interposed(db.database, async (call) => {
        if (call.name === "cache_drop") {
          asked.resolve();
          await go.promise;
        }
        const answered = await call.go();
        if (call.name === "cache_begin" && call.nth === 1) {
          read.resolve();
          await answer.promise;
        }
        return answered;
      }),
    );
    const invalidated = client.invalidate("k", { shared: true });
    await asked.promise;
    const meanwhile = client.singleFlight("k", shared, () => "no");
    await read.promise;
    go.resolve();
    await invalidated;
    // The old value has been read, and is still on its way to those who asked before.
    const after = client.singleFlight("k", shared, () => "new");
    answer.resolve();
    expect(await Promise.all([meanwhile, after])).toEqual(["old", "new"]);
  });

  test("an invalidation in this process alone leaves the shared value", async () => {
    await one.singleFlight("k", shared, () => "v");
    await one.invalidate("k");
    expect(await one.singleFlight("k", shared, () => "no")).toBe("v");
  });

  test("shared and unshared loads of one key have nothing in common", async () => {
    expect(await one.singleFlight("k", shared, () => "shared")).toBe("shared");
    expect(await one.singleFlight("k", { ttl: "1h" }, () => "own")).toBe("own");
    expect(await one.singleFlight("k", shared, () => "no")).toBe("shared");
    await one.invalidate("k", { shared: true });
    expect(await one.singleFlight("k", { ttl: "1h" }, () => "newer")).toBe("newer");
  });

  test("who waits for another client may leave, and then asks no more", async () => {
    const gate = deferred();
    const loading = one.singleFlight("k", shared, () => gate.promise);
    await until(row, "the fill");
    const database = interposed(db.database, (call) => call.go());
    const controller = new AbortController();
    const load = vi.fn();
    const leaves = made(database).singleFlight("k", { ...shared, signal: controller.signal }, load);
    await until(() => database.calls.length >= 2, "asked again");
    controller.abort(new Error("enough"));
    await expect(leaves).rejects.toThrow("enough");
    const asked = database.calls.length;
    const another = interposed(db.database, (call) => call.go());
    const stays = made(another).singleFlight<unknown>("k", shared, load);
    await until(() => another.calls.length >= 4, "another has asked again and again");
    expect(database.calls.length).toBe(asked);
    gate.resolve();
    await Promise.all([loading, stays]);
    expect(load).not.toHaveBeenCalled();
  });

  test("a load that nobody waits for any more is told, and gives its place up at once", async () => {
    const controller = new AbortController();
    const leaves = one.singleFlight("k", { ...shared, signal: controller.signal }, ({ signal }) =>
      aborted(signal).then((reason) => Promise.reject(reason)),
    );
    await until(row, "the fill");
    controller.abort(new Error("enough"));
    await expect(leaves).rejects.toThrow("enough");
    expect(await two.singleFlight("k", shared, () => "v")).toBe("v");
  });

  test("who left before the database had answered loads nothing, and keeps nobody waiting", async () => {
    const gate = deferred();
    const database = interposed(db.database, async (call) => {
      const answer = await call.go();
      if (call.name === "cache_begin") await gate.promise;
      return answer;
    });
    const controller = new AbortController();
    const load = vi.fn();
    const leaves = made(database).singleFlight("k", { ...shared, signal: controller.signal }, load);
    await until(row, "the fill");
    controller.abort(new Error("enough"));
    await expect(leaves).rejects.toThrow("enough");
    gate.resolve();
    expect(await two.singleFlight("k", shared, () => "v")).toBe("v");
    expect(load).not.toHaveBeenCalled();
  });
});

describe("while the database is away", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase("postgres");
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  test("each client loads for itself, which is told once, until the database answers again", async () => {
    let away = true;
    const database = interposed(db.database, async (call) => {
      if (away) throw connectionLost();
      return call.go();
    });
    const client = recorded({ database });
    const load = vi.fn(() => new Date(0));
    for (let i = 0; i < 3; i++) {
      expect(await client.singleFlight<unknown>("k", shared, load)).toBe(
        "1970-01-01T00:00:00.000Z",
      );
    }
    expect(load).toHaveBeenCalledTimes(3);
    expect(client.toldOf("error")).toMatchObject([
      { during: "cache", error: { code: "ECONNRESET" } },
    ]);
    await expect(client.invalidate("k", { shared: true })).rejects.toThrow("terminated");
    away = false;
    for (let i = 0; i < 3; i++) await client.singleFlight<unknown>("k", shared, load);
    expect(load).toHaveBeenCalledTimes(4);
    await client.close(); // and the housekeeping that it began when there was an answer
    away = true;
    await client.singleFlight<unknown>("k", shared, load);
    expect(client.toldOf("error")).toHaveLength(2);
  });

  test("a value that could not be stored goes to those who wait for it", async () => {
    const database = interposed(db.database, async (call) => {
      if (call.name !== "cache_begin") throw connectionLost();
      return call.go();
    });
    const client = recorded({ database, housekeeping: false });
    expect(await client.singleFlight("k", shared, () => "v")).toBe("v");
    const fails = () => Promise.reject(new Error("broken"));
    await ageAll(db, "cache", 60_000);
    await expect(client.singleFlight("k", shared, fails)).rejects.toThrow("broken");
  });

  test("one that does not answer is not waited for, and a fill that it hands out late is given up", async () => {
    const gate = deferred();
    const read: string[] = [];
    const database = interposed(db.database, async (call) => {
      const answer = await call.go();
      if (call.name !== "cache_begin") return answer;
      read.push((answer as { state: string }).state);
      await gate.promise;
      return answer;
    });
    const client = recorded({ database, housekeeping: false });
    const load = vi.fn(() => "v");
    /** Comes back when the database has answered, and the answer is on its way. */
    const ask = async (key: string) => {
      const before = read.length;
      const value = client.singleFlight(key, shared, load);
      while (read.length === before) await new Promise((resolve) => setImmediate(resolve));
      return { value };
    };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const first = await ask("k");
      await vi.advanceTimersByTimeAsync(9_999);
      expect(load).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(await first.value).toBe("v");
      const second = await ask("another");
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await second.value).toBe("v");
    } finally {
      vi.useRealTimers();
    }
    expect(read).toEqual(["fill", "fill"]);
    expect(client.toldOf("error")).toMatchObject([{ during: "cache" }]);
    gate.resolve();
    const none = async () => (await db.value("select count(*) from leasehold.cache")) === 0;
    await until(none, "both fills given up");
  });

  test("a mistake is thrown, and nothing loaded", async () => {
    const bare = await openTestDatabase("postgres", { migrated: false });
    const load = vi.fn();
    const client = recorded({ database: bare.database });
    await expect(client.singleFlight("k", shared, load)).rejects.toMatchObject({ code: "LH007" });
    expect(load).not.toHaveBeenCalled();
    await bare.close();
  });
});
