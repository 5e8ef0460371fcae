import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

describe.each(backends)("stats on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, enqueue, running, age, session, value } = fixture;
  const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

  test("counts the jobs of each kind", async () => {
    expect(await call("stats")).toEqual({ at: expect.stringMatching(iso), kinds: [] });
    await age(await enqueue(), 60_000);
    await enqueue();
    await enqueue({ delay_ms: 60_000 });
    await age(await enqueue({ start_within_ms: 1000 }), 2000);
    await age(await running({}, 1000), 2000);
    await running();
    await call("complete", await running(), 1);
    await call("fail", await running(), 1, {}, true);
    await call("cancel", await enqueue());
    await call("enqueue", "another", "{}", { delay_ms: 1000 });
    await call("pause", "another");
    await call("pause", "without jobs");
    const { at, kinds } = await call("stats");
    expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000);
    const none = { running: 0, expired: 0, completed: 0, failed: 0, cancelled: 0 };
    expect(kinds).toEqual([
      { kind: "another", paused: true, queued: 1, due: 0, ...none, oldest_due_ms: null },
      {
        ...{ kind: "k", paused: false, queued: 4, due: 3, running: 2, expired: 2 },
        ...{ completed: 1, failed: 1, cancelled: 1, oldest_due_ms: expect.any(Number) },
      },
    ]);
    expect(kinds[1].oldest_due_ms).toBeGreaterThanOrEqual(60_000);
    expect(kinds[1].oldest_due_ms).toBeLessThan(120_000);
  });

  test("reads only", async () => {
    const id = await running({}, 1000);
    await age(id, 2000);
    await session(async (own) => {
      await own.query("begin read only");
      expect((await own.call("stats")).kinds).toMatchObject([{ running: 1, expired: 1 }]);
      await own.query("commit");
    });
  });

  test("schema_version tells what is installed", async () => {
    expect(await call("schema_version")).toEqual(
      await value(
        `select jsonb_build_object('version', version, 'checksum', checksum)
         from leasehold.migrations order by version desc limit 1`,
      ),
    );
  });
});

describe.each(backends)("every on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, query, session } = fixture;
  const pass = (ms: number) => ageAll(fixture.db, "ticks", ms);

  test("is true once an interval", async () => {
    expect(await call("every", "prune", 1000)).toBe(true);
    expect(await call("every", "prune", 100_000)).toBe(false);
    await pass(50_000);
    expect(await call("every", "prune", 100_000)).toBe(false);
    await pass(50_000);
    expect(await call("every", "prune", 100_000)).toBe(true);
    expect(await call("every", "prune", 100_000)).toBe(false);
  });

  test("names do not disturb each other", async () => {
    expect(await call("every", "a", 100_000)).toBe(true);
    expect(await call("every", "b", 100_000)).toBe(true);
    expect(await call("every", "a", 100_000)).toBe(false);
  });

  test("a false leaves the moment of the last true", async () => {
    await call("every", "a", 100_000);
    const before = await query("select * from leasehold.ticks");
    await call("every", "a", 100_000);
    expect(await query("select * from leasehold.ticks")).toEqual(before);
  });

  test("counts once committed", async () => {
    await session(async (own) => {
      await own.query("begin");
      expect(await own.call("every", "a", 100_000)).toBe(true);
      expect(await own.call("every", "a", 100_000)).toBe(false);
      await own.query("rollback");
    });
    expect(await call("every", "a", 100_000)).toBe(true);
  });

  test.runIf(backend === "postgres")("is false where another caller is at it", async () => {
    await call("every", "a", 1);
    await pass(1000);
    await session(async (own) => {
      await own.query("begin");
      expect(await own.call("every", "a", 1)).toBe(true);
      expect(await call("every", "a", 1)).toBe(false);
      await own.query("rollback");
    });
    expect(await call("every", "a", 1)).toBe(true);
  });

  test.each([
    [null, 1, "p_name is null"],
    ["", 1, "p_name is ''"],
    ["a\n", 1, "p_name is 'a\n'"],
    ["x".repeat(501), 1, `p_name is '${"x".repeat(76)}...`],
    ["a", 0, "p_interval_ms is 0"],
    ["a", -5, "p_interval_ms is -5"],
    ["a", null, "p_interval_ms is null"],
  ])("refuses the name %.20j with %j ms", async (name, intervalMs, message) => {
    await expect(call("every", name, intervalMs)).rejects.toMatchObject({ code: "LH002", message });
    expect(await query("select from leasehold.ticks where name in ('a', '')")).toEqual([]);
  });
});
