import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, type Row, useDatabase } from "./support/calls.ts";

const unknown = "00000000-0000-7000-8000-000000000000";

interface Exchange {
  completed?: string[];
  generations?: number[];
  results?: unknown;
  outcomes?: unknown;
  kinds?: string[] | null;
  limit?: number;
  worker?: string;
  after?: unknown;
}

describe.each(backends)("finish_and_claim on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, put, running, job, events, count, age, session } = fixture;

  /** The answer's first row, and the jobs of the others. */
  async function exchange(given: Exchange, by = rows) {
    const { completed = [], results = null, outcomes = null, after = null } = given;
    const [first, ...claimed] = await by(
      "finish_and_claim",
      completed,
      given.generations ?? completed.map(() => 1),
      results === null ? null : json(results),
      outcomes === null ? null : json(outcomes),
      given.kinds ?? (given.limit === undefined ? null : ["k"]),
      given.limit ?? 0,
      given.worker ?? null,
      after === null ? null : json(after),
    );
    const { finished, ...nothing } = first ?? {};
    expect(Object.values(nothing).filter((value) => value !== null)).toEqual([]);
    return { finished, claimed };
  }

  test("completes and claims in one call, by one clock", async () => {
    const [a, b] = [await running(), await running()];
    const [c, d] = [await enqueue({ priority: 3 }, { n: 1 }), await enqueue()];
    await enqueue();
    const { finished, claimed } = await exchange({
      completed: [a, b],
      results: [{ ok: 1 }, null],
      limit: 2,
      worker: "w",
    });
    expect(finished).toBeNull();
    expect(await job(a)).toMatchObject({ status: "completed", result: { ok: 1 }, generation: 1 });
    expect(await job(b)).toMatchObject({ status: "completed", result: null, lease_until: null });
    expect(claimed.map(({ id, priority }) => [id, priority])).not.toContainEqual([c, 3]);
    expect(claimed[0]).toMatchObject({
      id: d,
      kind: "k",
      generation: 1,
      attempts: 1,
      finished: null,
    });
    const [at] = await query(
      "select finished_at = (select claimed_at from leasehold.jobs where id = $2) as same from leasehold.jobs where id = $1",
      [a, d],
    );
    expect(at?.same).toBe(true);
    expect(await job(d)).toMatchObject({ status: "running", worker: "w" });
  });

  test("hands out what claim would, in its order, and no more than its limit", async () => {
    const late = await enqueue({ priority: 5 });
    const ids = (await put({}, {}, { priority: -1 })).reverse();
    await enqueue({ delay_ms: 60_000 });
    await call("enqueue", "other");
    await call("enqueue", "paused");
    await call("pause", "paused");
    const { claimed } = await exchange({ kinds: ["k", "paused"], limit: 10 });
    expect(claimed.map(({ id }) => id)).toEqual([ids[2], ids[0], ids[1], late]);
    expect(claimed.map(({ priority }) => priority)).toEqual([-1, 0, 0, 5]);
    await enqueue();
    await enqueue();
    expect((await exchange({ limit: 1 })).claimed).toHaveLength(1);
  });

  test("finishes alone where it is to claim nothing", async () => {
    const [a] = [await running(), await enqueue()];
    expect(await exchange({ completed: [a] })).toEqual({ finished: null, claimed: [] });
    expect(await exchange({})).toEqual({ finished: null, claimed: [] });
    expect(await count()).toBe(2);
    expect((await job(a)).status).toBe("completed");
  });

  test("tells of each outcome that is not a straight completion", async () => {
    const [straight, stale, failing, later, again] = [
      await running(),
      await running(),
      await running(),
      await running(),
      await running({ key: "r" }),
    ];
    await call("complete", stale, 1);
    await call("enqueue", "k", "{}", { key: "r", on_conflict: "rerun" });
    const { finished } = await exchange({
      completed: [straight, stale, unknown, again],
      outcomes: [
        { id: failing, generation: 1, action: "fail", error: { code: "X" }, permanent: true },
        { id: later, generation: 1, action: "release", retry_after_ms: 60_000 },
      ],
    });
    expect(finished).toEqual({
      done: expect.arrayContaining([
        { id: stale, status: "completed" },
        { id: again, status: "queued" },
        { id: failing, status: "failed" },
        { id: later, status: "queued" },
      ]),
      refused: [unknown],
      busy: [],
    });
    expect(finished.done).toHaveLength(4);
    expect((await job(straight)).status).toBe("completed");
  });

  test("refuses what was claimed anew, and leaves a trace of it", async () => {
    const id = await running({}, 1_000);
    await age(id, 2_000);
    const { finished, claimed } = await exchange({ limit: 1 });
    expect(finished).toBeNull();
    expect(claimed).toMatchObject([{ id, generation: 2 }]);
    const second = await exchange({ completed: [id] });
    expect(second.finished).toEqual({ done: [], refused: [id], busy: [] });
    expect(await events(id)).toContainEqual(
      expect.objectContaining({ event: "refused", generation: 1 }),
    );
    expect(await job(id)).toMatchObject({ status: "running", generation: 2 });
  });

  test("captures what the jobs hold, each once", async () => {
    await call("grant_credits", "ann", 10, "g");
    await call("grant_credits", "bob", 10, "g");
    const paid = [
      await running({ cost: 2, account: "ann" }),
      await running({ cost: 3, account: "bob" }),
      await running(),
    ];
    expect((await exchange({ completed: paid })).finished).toBeNull();
    expect((await exchange({ completed: paid })).finished.done).toHaveLength(3);
    expect(await call("credits", "ann")).toEqual({ account: "ann", available: 8, held: 0 });
    expect(await call("credits", "bob")).toEqual({ account: "bob", available: 7, held: 0 });
    expect(await count("entries")).toBe(6);
    expect(await call("verify")).toMatchObject({ ok: true });
  });

  test("drops a result of more than 1 MB, whatever it is made of, and completes", async () => {
    const [plain, escaped, fits] = [await running(), await running(), await running()];
    const { finished } = await exchange({
      completed: [plain, escaped, fits],
      results: ["x".repeat(1_048_577), "\u0001".repeat(180_000), "\u0001".repeat(170_000)],
    });
    expect(finished.done).toHaveLength(2);
    expect(await job(plain)).toMatchObject({ status: "completed", result: null });
    expect(await job(escaped)).toMatchObject({ status: "completed", result: null });
    expect((await job(fits)).result).toHaveLength(170_000);
    expect(await events(escaped)).toMatchObject([{ code: "RESULT_DROPPED" }]);
  });

  test("looks from its last position on, and reaps only where it looks from the start", async () => {
    const [first, second] = [await enqueue(), await enqueue()];
    const expired = await running({}, 1_000);
    await age(expired, 2_000);
    const { run_after } = await job(second);
    const after = { 0: { run_after: run_after.toISOString().replace("Z", "000Z"), id: second } };
    const bounded = await exchange({ limit: 5, after });
    expect(bounded.claimed.map(({ id }) => id)).toEqual([second]);
    const whole = await exchange({ limit: 5 });
    expect(whole.claimed.map(({ id }) => id).sort()).toEqual([first, expired].sort());
  });

  test.each<[string, Exchange, RegExp]>([
    ["a null id", { completed: [null as never] }, /p_completed/],
    ["too few generations", { completed: [unknown], generations: [] }, /p_generations/],
    ["a null generation", { completed: [unknown], generations: [null as never] }, /p_generations/],
    ["results of another length", { completed: [unknown], results: [] }, /p_results/],
    ["results that are no array", { completed: [unknown], results: { a: 1 } }, /p_results/],
    ["an id twice", { completed: [unknown, unknown] }, /twice/],
    [
      "an id in both",
      { completed: [unknown], outcomes: [{ id: unknown, generation: 1, action: "complete" }] },
      /twice/,
    ],
    ["an unknown action", { outcomes: [{ id: unknown, generation: 1, action: "x" }] }, /outcome/],
    ["no kinds", { kinds: [], limit: 1 }, /p_kinds/],
    ["a limit below 0", { limit: -1 }, /p_limit/],
    ["a limit beyond 10,000", { limit: 10_001 }, /p_limit/],
    ["a position that is none", { limit: 1, after: { 0: 1 } }, /p_after/],
  ])("refuses %s, and changes nothing", async (_, given, message) => {
    const [id] = [await running(), await enqueue()];
    const completed = [id, ...(given.completed ?? [])];
    const generations = given.generations && [1, ...given.generations];
    const all = { ...given, completed, ...(generations && { generations }) };
    const results = Array.isArray(given.results) ? { results: given.results } : {};
    await expect(exchange({ ...all, ...results })).rejects.toMatchObject({
      code: "LH002",
      message: expect.stringMatching(message),
    });
    expect((await job(id)).status).toBe("running");
    expect(await count("job_events")).toBe(0);
  });

  test.skipIf(backend === "pglite")("hands out one job fewer for each that is busy", async () => {
    const [held, free] = [await running(), await running()];
    await enqueue();
    await enqueue();
    const blocker = await fixture.db.connect();
    try {
      await blocker.begin();
      await blocker.query("select from leasehold.jobs where id = $1 for no key update", [held]);
      const { finished, claimed } = await exchange({ completed: [held, free], limit: 2 });
      expect(finished).toEqual({ done: [], refused: [], busy: [held] });
      expect(claimed).toHaveLength(1);
    } finally {
      await blocker.rollback();
      await blocker.close();
    }
    expect((await exchange({ completed: [held] })).finished).toBeNull();
  });

  test("undoes the outcomes with the transaction that it was called in", async () => {
    const [id] = [await running(), await enqueue()];
    await session(async ({ query, rows }) => {
      await query("begin");
      expect((await exchange({ completed: [id], limit: 1 }, rows)).claimed).toHaveLength(1);
      await query("rollback");
    });
    expect(await job(id)).toMatchObject({ status: "running" });
    const left: Row[] = await query("select status from leasehold.jobs order by status");
    expect(left.map(({ status }) => status)).toEqual(["queued", "running"]);
  });
});
