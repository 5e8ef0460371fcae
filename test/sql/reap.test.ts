import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, useDatabase } from "./support/calls.ts";

describe.each(backends)("reap on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running, job, changes, events, span, age, count } = fixture;
  const leaseRanOut = "the worker's lease ran out: it died, froze, or lost the database";

  test("queues a job whose lease ran out, at its place, while attempts remain", async () => {
    const id = await running({ run_after: "2020-01-01T00:00:00Z", start_within_ms: 90_000 }, 1000);
    await call("extend", id, 1, 1000, { step: 1 });
    await age(id, 1000);
    const { answer, changed } = await changes(id, () => call("reap"));
    expect(answer).toBe(1);
    expect(changed).toEqual({
      status: "queued",
      lease_until: null,
      timeout_at: null,
      start_by: expect.any(Date),
      last_error_code: "LEASE_EXPIRED",
      last_error_message: leaseRanOut,
    });
    expect(await span(id, "start_by - clock_timestamp()")).toBeGreaterThan(30_000);
    expect(await events(id)).toEqual([
      {
        event: "reaped",
        generation: 1,
        code: "LEASE_EXPIRED",
        message: leaseRanOut,
        detail: {
          ...{ attempt: 1, to: "queued", worker: "w" },
          lease_until: expect.stringMatching(/Z$/),
        },
      },
    ]);
    expect(await call("reap")).toBe(0);
    expect(await rows("claim", ["k"])).toMatchObject([{ id, attempts: 2, generation: 2 }]);
  });

  test("ends a job whose lease ran out on its last attempt", async () => {
    const id = await running({ max_attempts: 1 }, 1000);
    await age(id, 2000);
    const { changed } = await changes(id, () => call("reap"));
    expect(changed).toEqual({
      status: "failed",
      lease_until: null,
      finished_at: expect.any(Date),
      last_error_code: "LEASE_EXPIRED",
      last_error_message: leaseRanOut,
    });
  });

  test.each([1, 5])("says TIMEOUT where that has passed, of %i attempts", async (max_attempts) => {
    const id = await running({ max_attempts }, 1000, 2000);
    await age(id, 3000);
    await call("reap");
    expect(await job(id)).toMatchObject({
      status: max_attempts === 1 ? "failed" : "queued",
      last_error_code: "TIMEOUT",
      last_error_message:
        "the attempt's timeout passed without an outcome: it hung, or its worker died",
    });
  });

  test("ends a job that nobody started in time", async () => {
    const id = await enqueue({ start_within_ms: 1000 });
    await age(id, 2000);
    const { answer, changed } = await changes(id, () => call("reap"));
    expect(answer).toBe(1);
    expect(changed).toEqual({
      status: "failed",
      finished_at: expect.any(Date),
      last_error_code: "NOT_STARTED",
      last_error_message: "nobody started the job within its start_within_ms",
    });
    expect(await events(id)).toMatchObject([{ event: "reaped", detail: { to: "failed" } }]);
  });

  test("ends a queued job that is at its maximum", async () => {
    const id = await enqueue({ max_attempts: 2, delay_ms: 60_000 });
    await query("update leasehold.jobs set attempts = 2");
    await call("reap");
    expect(await job(id)).toMatchObject({
      status: "failed",
      last_error_code: "ATTEMPTS_EXHAUSTED",
      last_error_message: "the job was queued with no attempt left",
    });
  });

  test.each([1, 5])(
    "ends a job whose cancel was requested, of %i attempts",
    async (max_attempts) => {
      const id = await running({ max_attempts }, 1000);
      await call("cancel", id);
      await age(id, 2000);
      expect(await call("reap")).toBe(1);
      expect(await job(id)).toMatchObject({
        status: "cancelled",
        last_error_code: "LEASE_EXPIRED",
      });
    },
  );

  test("leaves everything else as it is", async () => {
    await running({}, 60_000);
    await enqueue({ start_within_ms: 60_000 });
    await enqueue({ delay_ms: 60_000, start_within_ms: 1 });
    await age(await enqueue(), 86_400_000_000);
    const done = await running({}, 1000);
    await call("complete", done, 1);
    await age(done, 2000);
    const before = await query("select * from leasehold.jobs order by id");
    expect(await call("reap")).toBe(0);
    expect(await query("select * from leasehold.jobs order by id")).toEqual(before);
    expect(await count("job_events")).toBe(0);
  });

  test("takes every kind, the library's own and paused ones too, up to its limit", async () => {
    const kinds = ["a", "b", "c", "d", "e"];
    for (const kind of kinds) {
      const batch = Array(3).fill({ kind, max_attempts: 1 });
      await call("enqueue_many", json(batch));
      await rows("claim", [kind], 2, 1000);
    }
    await query("update leasehold.jobs set kind = 'leasehold.x' where kind = 'e'");
    await query(
      "update leasehold.jobs set lease_until = now() - interval '1 s' where status = 'running'",
    );
    await call("pause", "a");
    expect(await call("reap", 4)).toBe(4);
    expect(await call("reap", 3)).toBe(3);
    expect(await call("reap")).toBe(3);
    expect(await call("reap")).toBe(0);
    expect(await count("jobs where status = 'failed'")).toBe(10);
  });

  test("a job past its start_by and at its maximum counts once", async () => {
    const [both, one] = [await enqueue({ start_within_ms: 1000 }), await running({}, 1000)];
    await query("update leasehold.jobs set attempts = 5 where id = $1", [both]);
    for (const id of [both, one]) await age(id, 2000);
    expect(await call("reap", 2)).toBe(2);
  });

  test("S49: jobs that died together are all queued, each once", async () => {
    await call("enqueue_many", json(Array(200).fill({ kind: "k" })));
    await rows("claim", ["k"], 200, 1000);
    await query("update leasehold.jobs set lease_until = now() - interval '1 s'");
    expect(await call("reap")).toBe(100);
    expect(await call("reap")).toBe(100);
    expect(await count("job_events")).toBe(200);
    expect(new Set((await rows("claim", ["k"], 200)).map(({ id }) => id)).size).toBe(200);
  });

  test.each([0, -1, 10_001, null])("refuses a limit of %j", async (limit) => {
    await expect(call("reap", limit)).rejects.toMatchObject({
      code: "LH002",
      message: `p_limit is ${limit}`,
    });
  });
});
