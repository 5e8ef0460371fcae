import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const columns = [
  "id",
  "kind",
  "key",
  "owner",
  "payload",
  "attempts",
  "max_attempts",
  "generation",
  "releases",
  "budget_releases",
  "run_after",
  "lease_until",
  "timeout_at",
  "trace_context",
];

describe.each(backends)("claim on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, value, enqueue, running, job, changes, events, span, count } = fixture;
  const { age, session } = fixture;

  test("makes a queued job this worker's, and hands out what the worker needs", async () => {
    const id = await enqueue(
      { key: "a", owner: "ann", run_after: "2020-01-01T00:00:00.5Z" },
      { v: 1 },
    );
    const { answer, changed } = await changes(id, () =>
      rows("claim", ["k"], 1, 60_000, "worker 1", 120_000),
    );
    expect(changed).toEqual({
      status: "running",
      attempts: 1,
      generation: 1,
      claimed_at: expect.any(Date),
      started_at: changed.claimed_at,
      lease_ms: 60_000,
      lease_until: new Date(changed.claimed_at.getTime() + 60_000),
      timeout_at: new Date(changed.claimed_at.getTime() + 120_000),
      worker: "worker 1",
    });
    expect(Object.keys(answer[0])).toEqual(columns);
    expect(answer).toEqual([
      {
        id,
        kind: "k",
        key: "a",
        owner: "ann",
        payload: { v: 1 },
        attempts: 1,
        max_attempts: 5,
        generation: 1,
        releases: 0,
        budget_releases: 0,
        run_after: "2020-01-01T00:00:00.500000Z",
        lease_until: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
        timeout_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
        trace_context: null,
      },
    ]);
    expect(new Date(answer[0].lease_until)).toEqual(changed.lease_until);
    expect(new Date(answer[0].timeout_at)).toEqual(changed.timeout_at);
    expect(await events(id)).toEqual([]);
  });

  test("answers types that every driver reads alike", async () => {
    const types = await query(
      `select attname as name, atttypid::regtype::text as type from pg_attribute
       where attrelid = 'leasehold.claimed_job'::regclass and attnum > 0 order by attnum`,
    );
    const integers = ["attempts", "max_attempts", "generation", "releases", "budget_releases"];
    const expected = columns.map((name) => ({
      name,
      type: integers.includes(name)
        ? "integer"
        : (({ id: "uuid", payload: "jsonb", trace_context: "jsonb" } as Record<string, string>)[
            name
          ] ?? "text"),
    }));
    expect(types).toEqual(expected);
  });

  test("tells times in UTC, whatever the session's zone and style", async () => {
    await enqueue({ run_after: "2020-01-01T00:00:00Z" });
    await session(async (own) => {
      await own.query("set timezone = 'America/St_Johns'");
      await own.query("set datestyle = 'SQL, DMY'");
      await own.query("set intervalstyle = 'sql_standard'");
      const [claimed] = await own.rows("claim", ["k"]);
      expect(claimed?.run_after).toBe("2020-01-01T00:00:00.000000Z");
    });
  });

  test("a lease is 5 minutes and a timeout an hour, unless the kind or the call says otherwise", async () => {
    const lengths = async (...values: unknown[]) => {
      const id = await enqueue();
      expect(await rows("claim", ["k"], 1, ...values)).toHaveLength(1);
      return Promise.all([
        span(id, "lease_until - claimed_at"),
        span(id, "timeout_at - claimed_at"),
        job(id).then(({ lease_ms }) => lease_ms),
      ]);
    };
    const max = 2_147_483_647;
    expect(await lengths()).toEqual([300_000, 3_600_000, 300_000]);
    await call("define_kind", "k", { lease_ms: 1000, timeout_ms: 5000 });
    expect(await lengths()).toEqual([1000, 5000, 1000]);
    expect(await lengths(2000)).toEqual([2000, 5000, 2000]);
    expect(await lengths(null, null, 7000)).toEqual([1000, 7000, 1000]);
    expect(await lengths(9000, "w", 3000)).toEqual([3000, 3000, 9000]);
    expect(await lengths(max, null, max)).toEqual([max, max, max]);
  });

  test("each claim adds one to attempts and generation, and keeps the first start", async () => {
    const id = await running();
    const { started_at } = await job(id);
    await age(id, 5000);
    await call("fail", id, 1, {}, false, 0);
    expect(await rows("claim", ["k"])).toMatchObject([{ id, attempts: 2, generation: 2 }]);
    expect((await job(id)).started_at).toEqual(new Date(started_at.getTime() - 5000));
    expect((await job(id)).worker).toBeNull();
  });

  test("hands out no more than is due, and nothing twice", async () => {
    for (let i = 0; i < 3; i++) await enqueue();
    expect(await rows("claim", ["k"], 2)).toHaveLength(2);
    expect(await rows("claim", ["k"], 2)).toHaveLength(1);
    expect(await rows("claim", ["k"], 2)).toEqual([]);
    expect(await value("select array_agg(generation) from leasehold.jobs")).toEqual([1, 1, 1]);
  });

  test("hands out no job of a kind that was not asked for, or that is paused", async () => {
    const id = await enqueue();
    await call("pause", "k");
    await call("pause", "p");
    await call("enqueue", "other");
    await call("enqueue", "p");
    const { answer, changed } = await changes(id, () => rows("claim", ["k", "p"], 10));
    expect([answer, changed]).toEqual([[], {}]);
    expect(await rows("claim", ["k", "other", "p"], 10)).toMatchObject([{ kind: "other" }]);
    await call("resume", "k");
    expect(await rows("claim", ["k", "p"], 10)).toMatchObject([{ id }]);
  });

  test("hands out no job before its run_after, and none past its start_by", async () => {
    const later = await enqueue({ delay_ms: 60_000 });
    const late = await enqueue({ start_within_ms: 1000 });
    await age(late, 2000);
    expect(await rows("claim", ["k"], 10)).toEqual([]);
    expect(await job(late)).toMatchObject({ status: "failed", last_error_code: "NOT_STARTED" });
    await age(later, 60_000);
    expect(await rows("claim", ["k"], 10)).toMatchObject([{ id: later }]);
  });

  test("does not hand out what is excepted, and goes on behind it", async () => {
    const ids = [];
    for (let i = 0; i < 4; i++) ids.push(await enqueue({ priority: i }));
    const except = [ids[0], ids[2], "00000000-0000-0000-0000-000000000000"];
    const claimed = await rows("claim", ["k"], 2, null, null, null, except);
    expect(claimed.map(({ id }) => id)).toEqual([ids[1], ids[3]]);
  });

  test("a null among the excepted hides nothing", async () => {
    await enqueue();
    expect(await rows("claim", ["k"], 1, null, null, null, [null])).toHaveLength(1);
  });

  test("S06: reaps first, also what it does not hand out", async () => {
    const dead = await running({ key: "a", max_attempts: 1 }, 1000);
    const orphan = await running({ priority: 1 }, 1000);
    const other = (await call("enqueue", "other")).id;
    await call("claim_job", other, 1000);
    for (const id of [dead, orphan, other]) await age(id, 2000);
    expect(await rows("claim", ["k"])).toMatchObject([{ id: orphan, attempts: 2, generation: 2 }]);
    expect(await job(dead)).toMatchObject({
      status: "failed",
      attempts: 1,
      last_error_code: "LEASE_EXPIRED",
      finished_at: expect.any(Date),
    });
    expect(await job(other)).toMatchObject({ status: "running" });
    expect(await call("enqueue", "k", "{}", { key: "a" })).toMatchObject({ outcome: "created" });
  });

  test("reaps what is paused, for its lease ran out all the same", async () => {
    const id = await running({}, 1000);
    await call("pause", "k");
    await age(id, 2000);
    expect(await rows("claim", ["k"])).toEqual([]);
    expect(await job(id)).toMatchObject({ status: "queued", generation: 1 });
  });

  test("reaps a hundred at a time, or as many as it may hand out", async () => {
    await call("enqueue_many", JSON.stringify(Array(250).fill({ kind: "k", max_attempts: 1 })));
    await rows("claim", ["k"], 250, 1);
    await query("update leasehold.jobs set lease_until = lease_until - interval '1 s'");
    const failed = () => value("select count(*) from leasehold.jobs where status = 'failed'");
    await rows("claim", ["k"], 1);
    expect(await failed()).toBe(100);
    await rows("claim", ["k"], 120);
    expect(await failed()).toBe(220);
  });

  test("S23: a row at its maximum ends, and hinders nobody", async () => {
    const [q1, q2, q4] = [await enqueue(), await running({}, 1000), await enqueue()];
    await query("update leasehold.jobs set attempts = 5 where id = any ($1)", [[q1, q2]]);
    await age(q2 as string, 2000);
    await expect(
      query("update leasehold.jobs set attempts = 7 where id = $1", [q4]),
    ).rejects.toMatchObject({ code: "23514" });
    expect(await rows("claim", ["k"], 10)).toMatchObject([{ id: q4 }]);
    expect(await rows("claim", ["k"], 10)).toEqual([]);
    expect(await job(q1 as string)).toMatchObject({
      status: "failed",
      last_error_code: "ATTEMPTS_EXHAUSTED",
      finished_at: expect.any(Date),
    });
    expect(await job(q2 as string)).toMatchObject({ status: "failed" });
  });

  test("a kind named twice is one kind", async () => {
    for (let i = 0; i < 4; i++) await enqueue();
    expect(await rows("claim", ["k", "k", "k"], 3)).toHaveLength(3);
  });

  test("nothing of a claim that rolls back stays", async () => {
    const id = await enqueue();
    const { changed } = await changes(id, () =>
      session(async (own) => {
        await own.query("begin");
        expect(await own.rows("claim", ["k"])).toMatchObject([{ generation: 1 }]);
        await own.query("rollback");
      }),
    );
    expect(changed).toEqual({});
  });

  test.each([
    [[[]], "p_kinds is {}"],
    [[null], "p_kinds is null"],
    [[["k", null]], "p_kinds is {k,NULL}"],
    [[["k"], 0], "p_limit is 0"],
    [[["k"], -1], "p_limit is -1"],
    [[["k"], null], "p_limit is null"],
    [[["k"], 10_001], "p_limit is 10001"],
    [[["k"], 1, 0], "p_lease_ms is 0"],
    [[["k"], 1, -5000], "p_lease_ms is -5000"],
    [[["k"], 1, null, " "], "p_worker is ' '"],
    [[["k"], 1, null, "a\n"], "p_worker is 'a\n'"],
    [[["k"], 1, null, null, 0], "p_timeout_ms is 0"],
  ])("S21: refuses %j and claims nothing", async (values, message) => {
    await enqueue();
    await expect(rows("claim", ...values)).rejects.toMatchObject({
      code: "LH002",
      message,
      hint: expect.stringMatching(/^Give /),
    });
    expect(await count("jobs where status = 'running'")).toBe(0);
  });
});
