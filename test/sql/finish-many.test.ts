import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, type Row, useDatabase } from "./support/calls.ts";

const unknown = "00000000-0000-7000-8000-000000000000";

describe.each(backends)("finish_many on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running, job, changes, events, span, age, session } = fixture;
  const finish = (...outcomes: unknown[]) => call("finish_many", json(outcomes));
  const none = { done: [], refused: [], busy: [] };

  test("completes as complete does", async () => {
    const [id, bare] = [await running(), await running()];
    await age(id, 100_000);
    const { answer, changed } = await changes(id, () =>
      finish(
        { id, generation: 1, action: "complete", result: { ok: 1 } },
        { id: bare, generation: 1, action: "complete" },
      ),
    );
    expect(answer).toEqual({
      ...none,
      done: expect.arrayContaining([
        { id, status: "completed" },
        { id: bare, status: "completed" },
      ]),
    });
    expect(answer.done).toHaveLength(2);
    expect(changed).toEqual({
      status: "completed",
      result: { ok: 1 },
      lease_until: null,
      finished_at: expect.any(Date),
    });
    expect((await job(bare)).result).toBeNull();
    expect(await events(id)).toEqual([]);
  });

  test("fails as fail does", async () => {
    await call("define_kind", "k", { backoff_ms: [30_000] });
    const error = { code: "X", message: "m", details: { a: null } };
    const [again, at, last, permanent, cancelled] = [
      await running(),
      await running(),
      await running({ max_attempts: 1 }),
      await running(),
      await running(),
    ];
    await call("cancel", cancelled);
    const fail = (id: string, options: object = {}) => ({
      ...{ id, generation: 1, action: "fail", error, ...options },
    });
    const answer = await finish(
      fail(again),
      fail(at, { retry_after_ms: 999_999_999, permanent: null }),
      fail(last, { permanent: false }),
      fail(permanent, { permanent: true }),
      fail(cancelled),
    );
    expect(answer).toEqual({
      ...none,
      done: [
        { id: again, status: "queued" },
        { id: at, status: "queued" },
        { id: last, status: "failed" },
        { id: permanent, status: "failed" },
        { id: cancelled, status: "cancelled" },
      ],
    });
    const failedAt = "(select at from leasehold.job_events e where e.job_id = jobs.id)";
    const waitMs = await span(again, `run_after - ${failedAt}`);
    expect(waitMs).toBeGreaterThanOrEqual(30_000);
    expect(waitMs).toBeLessThanOrEqual(31_501);
    expect(await span(at, `run_after - ${failedAt}`)).toBe(86_400_000);
    expect(await job(last)).toMatchObject({ last_error_code: "X", last_error_message: "m" });
    expect(await events(again)).toEqual([
      {
        event: "failed",
        generation: 1,
        code: "X",
        message: "m",
        detail: { attempt: 1, to: "queued", worker: "w", details: { a: null } },
      },
    ]);
  });

  test("releases as release does", async () => {
    const [bare, full] = [await running(), await running()];
    const { changed } = await changes(full, () =>
      finish(
        { id: bare, generation: 1, action: "release" },
        {
          ...{ id: full, generation: 1, action: "release" },
          ...{ retry_after_ms: 60_000, error_code: "BUDGET_EXCEEDED" },
        },
      ),
    );
    expect(changed).toEqual({
      status: "queued",
      attempts: 0,
      releases: 1,
      budget_releases: 1,
      run_after: expect.any(Date),
      lease_until: null,
      timeout_at: null,
      last_error_code: "BUDGET_EXCEEDED",
    });
    expect(await rows("claim", ["k"], 10)).toMatchObject([{ id: bare, generation: 2 }]);
    expect(await events(bare)).toMatchObject([{ event: "released", generation: 1 }]);
  });

  test("takes every mix, and says of each what became of it", async () => {
    const ids = [];
    for (let i = 0; i < 6; i++) ids.push(await running({ priority: i }));
    const [a, b, c, stale, done, queued] = ids as [string, string, string, string, string, string];
    await call("release", stale, 1);
    await rows("claim_job", stale);
    await call("complete", done, 1, { first: true });
    await call("release", queued, 1);
    const before = await Promise.all([job(stale), job(done), job(queued)]);
    const answer = await finish(
      { id: queued, generation: 1, action: "release" },
      { id: a, generation: 1, action: "complete", result: 1 },
      { id: stale, generation: 1, action: "complete", result: "late" },
      { id: b, generation: 1, action: "fail", error: {}, permanent: true },
      { id: done, generation: 1, action: "complete", result: "again" },
      { id: unknown, generation: 1, action: "fail", error: {} },
      { id: c, generation: 1, action: "release" },
    );
    expect(answer.done).toHaveLength(4);
    expect(answer).toEqual({
      done: expect.arrayContaining([
        { id: a, status: "completed" },
        { id: b, status: "failed" },
        { id: c, status: "queued" },
        { id: done, status: "completed" },
      ]),
      refused: [queued, stale, unknown],
      busy: [],
    });
    expect(await Promise.all([job(stale), job(done), job(queued)])).toEqual(before);
    expect((await events(stale)).at(-1)).toEqual({
      event: "refused",
      generation: 1,
      detail: { action: "complete", status: "running", generation: 2 },
    });
    expect((await events(queued)).at(-1)).toMatchObject({
      event: "refused",
      detail: { action: "release", status: "queued" },
    });
    expect(await events(done)).toEqual([]);
  });

  test("a repeated call tells the completed again and refuses the rest", async () => {
    const [a, b, c] = [await running(), await running(), await running()];
    const outcomes = [
      { id: a, generation: 1, action: "complete", result: 1 },
      { id: b, generation: 1, action: "fail", error: {}, permanent: true },
      { id: c, generation: 1, action: "release" },
    ];
    await finish(...outcomes);
    const before = await query("select * from leasehold.jobs order by id");
    expect(await finish(...outcomes)).toEqual({
      done: [{ id: a, status: "completed" }],
      refused: [b, c],
      busy: [],
    });
    expect(await query("select * from leasehold.jobs order by id")).toEqual(before);
  });

  test("accepts what expired, and refuses what was reaped", async () => {
    const [expired, reaped] = [await running({}, 1000), await running({}, 1000)];
    await age(reaped, 2000);
    await call("reap");
    await age(expired, 2000);
    expect(
      await finish(
        { id: expired, generation: 1, action: "complete" },
        { id: reaped, generation: 1, action: "complete" },
      ),
    ).toEqual({ done: [{ id: expired, status: "completed" }], refused: [reaped], busy: [] });
  });

  test("drops a result over 1 MB, or one that came as an error, and completes", async () => {
    const [large, unstorable] = [await running(), await running()];
    const answer = await finish(
      { id: large, generation: 1, action: "complete", result: "x".repeat(1_048_575) },
      {
        ...{ id: unstorable, generation: 1, action: "complete", result: null },
        error: { code: "RESULT_DROPPED", message: "it holds a cycle" },
      },
    );
    expect(answer).toEqual({
      ...none,
      done: [
        { id: large, status: "completed" },
        { id: unstorable, status: "completed" },
      ],
    });
    for (const [id, message] of [
      [large, "the result has 1048577 bytes, more than 1048576"],
      [unstorable, "it holds a cycle"],
    ] as const) {
      expect(await job(id)).toMatchObject({ status: "completed", result: null });
      expect(await events(id)).toEqual([
        { event: "result_dropped", generation: 1, code: "RESULT_DROPPED", message },
      ]);
    }
    expect(await query("select from leasehold.jobs where result is not null")).toEqual([]);
  });

  test("a result or an error of null is none", async () => {
    const id = await running();
    await finish({ id, generation: 1, action: "complete", result: null, error: null });
    expect(await query("select from leasehold.jobs where result is null")).toHaveLength(1);
    expect(await events(id)).toEqual([]);
  });

  test("answers ids as PostgreSQL writes them, however they were given", async () => {
    const ids = [await running(), await running(), await running()];
    const answer = await finish(
      { id: ids[0]?.toUpperCase(), generation: 1, action: "complete" },
      { id: ids[1]?.toUpperCase(), generation: 1, action: "release" },
      { id: ids[2]?.toUpperCase(), generation: 2, action: "release" },
    );
    expect(answer.done.map(({ id }: Row) => id).sort()).toEqual(ids.slice(0, 2).sort());
    expect(answer.refused).toEqual([ids[2]]);
  });

  test("takes a thousand at once, and none", async () => {
    expect(await finish()).toEqual(none);
    await call("enqueue_many", json(Array(1000).fill({ kind: "k" })));
    const claimed = await rows("claim", ["k"], 1000);
    const answer = await finish(
      ...claimed.map(({ id, generation }) => ({ id, generation, action: "complete", result: id })),
    );
    expect(answer.done).toHaveLength(1000);
    expect(await query("select from leasehold.jobs where result = to_jsonb(id)")).toHaveLength(
      1000,
    );
  });

  test("takes any delay that release takes", async () => {
    const id = await running();
    const outcome = { id, generation: 1, action: "release", retry_after_ms: 2_147_483_647 };
    expect(await finish(outcome)).toEqual({ ...none, done: [{ id, status: "queued" }] });
  });

  test.runIf(backend === "postgres")(
    "leaves what another transaction holds, and says busy",
    async () => {
      const [held, free] = [await running(), await enqueue().then(() => running())];
      await session(async (own) => {
        await own.query("begin");
        await own.call("guard", held, 1);
        const outcomes = [held, free].map((id) => ({ id, generation: 1, action: "complete" }));
        const { answer, changed } = await changes(held, () => finish(...outcomes));
        expect(answer).toEqual({
          done: [{ id: free, status: "completed" }],
          refused: [],
          busy: [held],
        });
        expect(changed).toEqual({});
        await own.query("commit");
        expect(await finish(...outcomes.slice(0, 1))).toEqual({
          ...none,
          done: [{ id: held, status: "completed" }],
        });
      });
      expect(await events(held)).toEqual([]);
    },
  );
});
