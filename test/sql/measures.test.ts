import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
const nothing = {
  ...{ paused: false, due: 0, waiting: 0, running: 0, expired: 0, oldest_due_ms: null },
  ...{ lease_expiries: 0, refused_writes: 0 },
};

describe.each(backends)("measures on %s", (backend) => {
  const { call, rows, query, enqueue, running, age } = useDatabase(backend);
  const kindsOf = async (since?: string) => (await call("measures", since ?? null)).kinds;
  const eventsAge = (ms: number) =>
    query(`update leasehold.job_events set at = at - ${ms} * interval '1 millisecond'`);

  test("of an empty queue", async () => {
    expect(await call("measures")).toEqual({ at, from: at, to: at, limit: 10_000, kinds: [] });
  });

  test("counts each kind by itself, in all its priorities", async () => {
    await age(await enqueue(), 60_000);
    await enqueue({ priority: -32_768 });
    await enqueue({ priority: 32_767, delay_ms: 60_000 });
    await call("enqueue", "another", "{}", { delay_ms: 60_000 });
    await call("enqueue", "z", "{}", { priority: 7 });
    await running();
    await age(await running({}, 1000), 2000);
    await call("pause", "another");
    await call("define_kind", "idle", "{}");
    expect(await kindsOf()).toEqual([
      { ...nothing, kind: "another", paused: true, waiting: 1 },
      { ...nothing, kind: "idle" },
      {
        ...nothing,
        ...{ kind: "k", due: 2, waiting: 1, running: 2, expired: 1 },
        oldest_due_ms: expect.any(Number),
      },
      { ...nothing, kind: "z", due: 1, oldest_due_ms: expect.any(Number) },
    ]);
    const [, , k] = await kindsOf();
    expect(k.oldest_due_ms).toBeGreaterThanOrEqual(60_000);
    expect(k.oldest_due_ms).toBeLessThan(120_000);
  });

  test("counts each up to its limit", async () => {
    await query(`insert into leasehold.jobs (id, kind)
      select gen_random_uuid(), kind from generate_series(1, 10001), unnest(array['a', 'b']) k (kind)`);
    expect(await kindsOf()).toMatchObject([{ due: 10_000 }, { due: 10_000 }]);
  });

  test("tells what went wrong with leases, each time once", async () => {
    const id = await running({}, 1000);
    await age(id, 2000);
    await call("reap");
    expect(await call("complete", id, 1)).toBe(false);
    const late = await running({ start_within_ms: 1000 });
    await call("fail", late, 1, {}, true); // neither the one nor the other
    expect(await kindsOf()).toMatchObject([{ lease_expiries: 0, refused_writes: 0 }]);
    await eventsAge(6_000); // what is committed late has had its time
    expect(await kindsOf()).toMatchObject([{ lease_expiries: 1, refused_writes: 1 }]);
    const { to } = await call("measures");
    expect(await kindsOf(to)).toMatchObject([{ lease_expiries: 0, refused_writes: 0 }]);
    await eventsAge(3_600_000);
    expect(await kindsOf()).toMatchObject([{ lease_expiries: 0, refused_writes: 0 }]);
    await rows("claim", ["k"], 10);
  });

  test.each(["infinity", "-infinity", "2020-01-01T00:00:00Z"])("not since %s", async (since) => {
    await expect(call("measures", since)).rejects.toMatchObject({
      code: "LH002",
      hint: expect.stringContaining("the last 31 days"),
    });
  });
});
