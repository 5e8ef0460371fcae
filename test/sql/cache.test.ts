import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import { backends } from "../support/databases.ts";
import { json, useDatabase } from "./support/calls.ts";

const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
const nobodys = "00000000-0000-4000-8000-000000000000";
const hourMs = 3_600_000;

describe.each(backends)("the cache on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, query, count, session } = fixture;
  const pass = (ms: number) => ageAll(fixture.db, "cache", ms);
  const begin = (key = "k", leaseMs = 60_000) => call("cache_begin", key, leaseMs);
  const put = (token: string, value: unknown = 1, ttlMs = 60_000, key = "k") =>
    call("cache_put", key, token, json(value), ttlMs);
  const drop = (token?: string) => call("cache_drop", "k", ...(token === undefined ? [] : [token]));
  /** Stores a value under "k". */
  const stored = async (value: unknown, ttlMs = 60_000) => {
    const { token } = await begin();
    expect(await put(token, value, ttlMs)).toBe(true);
    return token;
  };
  const hit = (value: unknown) => ({ state: "hit", value, token: null, retry_after_ms: null });
  const fill = { state: "fill", value: null, token: uuid, retry_after_ms: null };
  const wait = { state: "wait", value: null, token: null, retry_after_ms: expect.any(Number) };

  test("one fills, the others wait, and then all get the value", async () => {
    const first = await begin();
    expect(first).toEqual(fill);
    expect(await begin()).toEqual(wait);
    expect(await begin()).toEqual(wait);
    expect(await put(first.token, { tile: [1, "two"] })).toBe(true);
    expect(await begin()).toEqual(hit({ tile: [1, "two"] }));
    expect(await begin()).toEqual(hit({ tile: [1, "two"] }));
    expect(await query("select * from leasehold.cache")).toEqual([
      {
        ...{ key: "k", token: null, value: { tile: [1, "two"] } },
        ...{ since: expect.any(Date), expires_at: expect.any(Date) },
      },
    ]);
  });

  test("keys do not disturb each other", async () => {
    const [a, b] = [await begin("a"), await begin("A")];
    expect([a.state, b.state]).toEqual(["fill", "fill"]);
    expect(a.token).not.toBe(b.token);
    expect(await put(a.token, 1, 1000, "A")).toBe(false);
    expect(await put(b.token, 1, 1000, "A")).toBe(true);
    expect(await begin("a")).toEqual(wait);
  });

  test("a value is a hit until its time is over; then one makes it anew, and nobody gets the old", async () => {
    await stored("old", 60_000);
    await pass(59_000);
    expect(await begin()).toEqual(hit("old"));
    await pass(1_001);
    const next = await begin();
    expect(next).toEqual(fill);
    expect(await begin()).toEqual(wait);
    expect(await put(next.token, "new")).toBe(true);
    expect(await begin()).toEqual(hit("new"));
  });

  test.each([[null], [false], [0], [""], [{}], [[]]])(
    "%j is a value like another",
    async (value) => {
      await stored(value);
      expect(await begin()).toEqual(hit(value));
    },
  );

  test("SQL null is stored as JSON's null", async () => {
    const { token } = await begin();
    expect(await call("cache_put", "k", token, null, 1000)).toBe(true);
    expect(await begin()).toEqual(hit(null));
  });

  test("a fill whose lease ran out goes to the next, under a new token, and its own is refused", async () => {
    const late = await begin("k", 1000);
    await pass(1001);
    const next = await begin();
    expect(next).toEqual(fill);
    expect(next.token).not.toBe(late.token);
    expect(await put(late.token, "late")).toBe(false);
    expect(await drop(late.token)).toBe(false);
    expect(await begin()).toEqual(wait);
    expect(await put(next.token, "next")).toBe(true);
    expect(await put(late.token, "late")).toBe(false);
    expect(await begin()).toEqual(hit("next"));
  });

  test("a fill whose lease ran out may still store where nobody took it over", async () => {
    const late = await begin("k", 1000);
    await pass(30 * 60_000);
    await call("prune");
    expect(await put(late.token, "late", 5000)).toBe(true);
    expect(await begin()).toEqual(hit("late"));
    await pass(5001);
    expect(await begin()).toEqual(fill);
  });

  test("a fill that is given up goes to the next who asks, at once", async () => {
    const first = await begin();
    expect(await drop(nobodys)).toBe(false);
    expect(await begin()).toEqual(wait);
    expect(await drop(first.token)).toBe(true);
    expect(await drop(first.token)).toBe(false);
    expect(await count("cache")).toBe(0);
    expect(await put(first.token)).toBe(false);
    expect(await begin()).toEqual(fill);
  });

  test("a token stores once, and drops no value", async () => {
    const token = await stored("first");
    expect(await put(token, "second")).toBe(false);
    expect(await drop(token)).toBe(false);
    expect(await begin()).toEqual(hit("first"));
    expect(await call("cache_put", "k", null, "1", 1000)).toBe(false);
    expect(await put(nobodys)).toBe(false);
  });

  test("an invalidation takes the value away", async () => {
    await stored("old");
    expect(await drop()).toBe(true);
    expect(await drop()).toBe(false);
    expect(await begin()).toEqual(fill);
  });

  test("an invalidation refuses what was being made before it, also once a newer fill stands (S48)", async () => {
    const before = await begin();
    expect(await drop()).toBe(true);
    expect(await put(before.token, "before")).toBe(false);
    const after = await begin();
    expect(after).toEqual(fill);
    expect(await put(before.token, "before")).toBe(false);
    expect(await drop(before.token)).toBe(false);
    expect(await begin()).toEqual(wait);
    expect(await put(after.token, "after")).toBe(true);
    expect(await begin()).toEqual(hit("after"));
  });

  test("who waits is told a quarter of the time that the fill has taken, 20 to 1,000 ms", async () => {
    await begin("k", 3 * 60_000);
    const { retry_after_ms } = await begin();
    expect(retry_after_ms).toBeGreaterThanOrEqual(20);
    await pass(2_000);
    const after2s = (await begin()).retry_after_ms;
    expect(after2s).toBeGreaterThanOrEqual(500);
    expect(after2s).toBeLessThan(1_000);
    await pass(60_000);
    expect((await begin()).retry_after_ms).toBe(1_000);
  });

  test("who waits is told to ask no later than the end of the lease", async () => {
    await begin("k", 60_000);
    await pass(59_500);
    const { retry_after_ms } = await begin();
    expect(retry_after_ms).toBeGreaterThanOrEqual(1);
    expect(retry_after_ms).toBeLessThanOrEqual(500);
  });

  test("a hit and a wait write nothing, also in a transaction that may not", async () => {
    await stored(1);
    await begin("being made");
    const rows = "select *, xmin::text, xmax::text from leasehold.cache order by key";
    const before = await query(rows);
    await session(async (own) => {
      await own.query("begin read only");
      expect(await own.call("cache_begin", "k", 1000)).toEqual(hit(1));
      expect(await own.call("cache_begin", "being made", 1000)).toEqual(wait);
      await own.query("commit");
    });
    expect(await query(rows)).toEqual(before);
  });

  test("an invalidation counts from the commit", async () => {
    await stored("old");
    await session(async (own) => {
      await own.query("begin");
      expect(await own.call("cache_drop", "k")).toBe(true);
      await own.query("rollback");
    });
    expect(await begin()).toEqual(hit("old"));
  });

  test("takes a key of 500 bytes and a value of 1 MB", async () => {
    const key = "é".repeat(250);
    const { token } = await begin(key);
    expect(await put(token, "x".repeat(1_048_574), 2_147_483_647, key)).toBe(true);
    expect((await begin(key, 2_147_483_647)).value).toHaveLength(1_048_574);
  });

  test.each([
    ["cache_begin", [null, 1], "LH002", "p_key is null"],
    ["cache_begin", [" ", 1], "LH002", "p_key is ' '"],
    ["cache_begin", ["a\u0007", 1], "LH002", "p_key is 'a\u0007'"],
    ["cache_begin", [`${"é".repeat(250)}x`, 1], "LH002", /^p_key is /],
    ["cache_begin", ["k", 0], "LH002", "p_lease_ms is 0"],
    ["cache_begin", ["k", null], "LH002", "p_lease_ms is null"],
    ["cache_put", [null, nobodys, "1", 1], "LH002", "p_key is null"],
    ["cache_put", ["k", nobodys, "1", 0], "LH002", "p_ttl_ms is 0"],
    ["cache_put", ["k", nobodys, "1", null], "LH002", "p_ttl_ms is null"],
    ["cache_put", ["k", nobodys, json("x".repeat(1_048_575)), 1], "LH004", /^p_value has 1048577 /],
    ["cache_drop", [""], "LH002", "p_key is ''"],
    ["cache_drop", [null, nobodys], "LH002", "p_key is null"],
  ] as const)("%s refuses %.40j and changes nothing", async (name, values, code, message) => {
    await stored(1);
    await expect(call(name, ...values)).rejects.toMatchObject({
      code,
      message: typeof message === "string" ? message : expect.stringMatching(message),
    });
    expect(await begin()).toEqual(hit(1));
    expect(await count("cache")).toBe(1);
  });

  describe("prune", () => {
    const keys = async () =>
      (await query("select key from leasehold.cache order by key")).map(({ key }) => key);

    test("deletes values whose time is over, and no value or fill in force", async () => {
      for (const [key, ttlMs] of [
        ["over", 1000],
        ["in force", hourMs],
      ] as const) {
        await put((await begin(key)).token, 1, ttlMs, key);
      }
      await begin("being made", hourMs);
      await pass(2000);
      expect(await call("prune")).toEqual({ deleted: 0 });
      expect(await keys()).toEqual(["being made", "in force"]);
    });

    test("deletes a fill that nobody came back to an hour after its lease", async () => {
      await begin("k", 1000);
      await pass(hourMs);
      await call("prune");
      expect(await keys()).toEqual(["k"]);
      await pass(2000);
      await call("prune");
      expect(await keys()).toEqual([]);
    });

    test("deletes no more than its limit, the longest over first", async () => {
      for (const minutes of [3, 1, 5, 2, 4]) {
        const key = `${minutes}`;
        await put((await begin(key)).token, 1, minutes * 60_000, key);
      }
      await pass(10 * 60_000);
      await call("prune", { limit: 2 });
      expect(await keys()).toEqual(["3", "4", "5"]);
      await call("prune", { limit: 10 });
      expect(await keys()).toEqual([]);
    });
  });
});
