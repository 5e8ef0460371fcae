import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const everything = {
  max_attempts: 3,
  backoff_ms: [1000, 2000],
  lease_ms: 5000,
  timeout_ms: 60_000,
  start_within_ms: 30_000,
  retain_ms: 86_400_000,
};

const nothing = {
  kind: "k",
  max_attempts: null,
  backoff_ms: null,
  lease_ms: null,
  timeout_ms: null,
  start_within_ms: null,
  retain_ms: null,
  paused_at: null,
};

describe.each(backends)("define_kind on %s", (backend) => {
  const { call, query, enqueue, job, count } = useDatabase(backend);
  const kinds = () => query("select * from leasehold.kinds");

  test("stores the defaults of a new kind", async () => {
    expect(await call("define_kind", "k", everything)).toBe(true);
    expect(await kinds()).toEqual([{ ...nothing, ...everything }]);
  });

  test("changes what is named and leaves the rest", async () => {
    await call("define_kind", "k", everything);
    expect(await call("define_kind", "k", { lease_ms: 7000 })).toBe(true);
    expect(await kinds()).toEqual([{ ...nothing, ...everything, lease_ms: 7000 }]);
  });

  test("takes the library's default again for null", async () => {
    await call("define_kind", "k", everything);
    const reset = Object.fromEntries(Object.keys(everything).map((name) => [name, null]));
    expect(await call("define_kind", "k", reset)).toBe(true);
    expect(await kinds()).toEqual([nothing]);
    expect(await job(await enqueue())).toMatchObject({ max_attempts: 5, start_within_ms: null });
  });

  test("writes only on change", async () => {
    const version = "select xmin::text || ctid::text from leasehold.kinds";
    await call("define_kind", "k", everything);
    const before = await query(version);
    expect(await call("define_kind", "k", everything)).toBe(false);
    expect(await call("define_kind", "k", {})).toBe(false);
    expect(await call("define_kind", "k", { backoff_ms: [1000, 2000], lease_ms: 5000 })).toBe(
      false,
    );
    expect(await query(version)).toEqual(before);
  });

  test("a pause survives it", async () => {
    await call("pause", "k");
    const [{ paused_at }] = (await kinds()) as [{ paused_at: Date }];
    expect(await call("define_kind", "k", everything)).toBe(true);
    expect(await kinds()).toEqual([{ ...nothing, ...everything, paused_at }]);
  });

  test("kinds do not touch each other, and jobs keep what they were enqueued with", async () => {
    const before = await enqueue();
    await call("define_kind", "other", { max_attempts: 9 });
    await call("define_kind", "k", everything);
    expect(await job(before)).toMatchObject({ max_attempts: 5, start_within_ms: null });
    expect(await job(await enqueue())).toMatchObject({ max_attempts: 3, start_within_ms: 30_000 });
    expect(await job(await enqueue({ max_attempts: 4, start_within_ms: 1 }))).toMatchObject({
      max_attempts: 4,
      start_within_ms: 1,
    });
  });

  test("whole numbers count as such however JSON writes them", async () => {
    expect(
      await call("define_kind", "k", '{"max_attempts": 3.0, "backoff_ms": [1e3, 2000.0]}'),
    ).toBe(true);
    expect(await kinds()).toEqual([{ ...nothing, max_attempts: 3, backoff_ms: [1000, 2000] }]);
  });

  test.each([
    ['{"max_attempts": 0}', "max_attempts is 0"],
    ['{"max_attempts": 32768}', "max_attempts is 32768"],
    ['{"max_attempts": 1.5}', "max_attempts is 1.5"],
    ['{"max_attempts": "3"}', 'max_attempts is "3"'],
    ['{"lease_ms": 0}', "lease_ms is 0"],
    ['{"lease_ms": 2147483648}', "lease_ms is 2147483648"],
    ['{"timeout_ms": -1}', "timeout_ms is -1"],
    ['{"timeout_ms": 2147483648}', "timeout_ms is 2147483648"],
    ['{"start_within_ms": 0}', "start_within_ms is 0"],
    ['{"retain_ms": 315360000001}', "retain_ms is 315360000001"],
    ['{"backoff_ms": []}', "backoff_ms is []"],
    ['{"backoff_ms": 1000}', "backoff_ms is 1000"],
    ['{"backoff_ms": [1000, null]}', "backoff_ms is null"],
    ['{"backoff_ms": [-1]}', "backoff_ms is -1"],
    ["[]", "p_defaults is []"],
    [null, "p_defaults is null"],
  ])("refuses %s and stores nothing", async (defaults, message) => {
    await expect(call("define_kind", "k", defaults)).rejects.toMatchObject({
      code: "LH002",
      message,
      hint: expect.stringMatching(/^Give /),
    });
    expect(await count("kinds")).toBe(0);
  });

  test("refuses a name that it does not know, and says which it knows", async () => {
    await expect(call("define_kind", "k", { lease: 1 })).rejects.toMatchObject({
      code: "LH003",
      message: "option lease is not known",
      hint: `Known here: ${Object.keys(everything).join(", ")}.`,
    });
  });

  test.each([null, "", " ", "leasehold.reconcile", "a\nb", "x".repeat(101)])(
    "refuses %j as a kind",
    async (kind) => {
      await expect(call("define_kind", kind, {})).rejects.toMatchObject({ code: "LH002" });
      expect(await count("kinds")).toBe(0);
    },
  );
});
