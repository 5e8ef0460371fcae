import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

describe.each(backends)("release on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running, job, changes, events, span, age } = fixture;

  test("gives the job back at once, the attempt not counted", async () => {
    const id = await running({ start_within_ms: 60_000 });
    const { answer, changed } = await changes(id, () => call("release", id, 1));
    expect(answer).toBe(true);
    expect(changed).toEqual({
      status: "queued",
      attempts: 0,
      releases: 1,
      run_after: expect.any(Date),
      start_by: new Date(changed.run_after.getTime() + 60_000),
      lease_until: null,
      timeout_at: null,
    });
    expect(await events(id)).toEqual([
      {
        event: "released",
        generation: 1,
        detail: { retry_after_ms: 0, to: "queued", worker: "w" },
      },
    ]);
    expect(await rows("claim", ["k"])).toMatchObject([
      { id, attempts: 1, generation: 2, releases: 1 },
    ]);
  });

  test("S22: tells after how long and why", async () => {
    const id = await running();
    await call("release", id, 1, 900_000, "HTTP_403");
    expect(await job(id)).toMatchObject({
      last_error_code: "HTTP_403",
      last_error_message: null,
      releases: 1,
    });
    const releasedAt = "(select at from leasehold.job_events e where e.job_id = jobs.id)";
    expect(await span(id, `run_after - ${releasedAt}`)).toBe(900_000);
    expect(await events(id)).toMatchObject([{ event: "released", code: "HTTP_403" }]);
    expect(await rows("claim", ["k"])).toEqual([]);
    expect(await call("status", id)).toMatchObject({ error_code: "HTTP_403" });
  });

  test("keeps the last error where it gives no code", async () => {
    const id = await running();
    await call("fail", id, 1, { code: "X", message: "m" }, false, 0);
    for (const code of [null, ""]) {
      const [claimed] = await rows("claim_job", id);
      await call("release", id, claimed?.generation, 0, code);
      expect(await job(id)).toMatchObject({ last_error_code: "X", last_error_message: "m" });
    }
  });

  test("never counts attempts below 0, nor above what they were", async () => {
    const id = await running({ max_attempts: 2 });
    await query("update leasehold.jobs set attempts = 0");
    await call("release", id, 1);
    expect(await job(id)).toMatchObject({ attempts: 0, releases: 1 });
    await rows("claim_job", id);
    await call("fail", id, 2, {}, false, 0);
    await rows("claim_job", id);
    await call("release", id, 3);
    expect(await job(id)).toMatchObject({ attempts: 1, generation: 3 });
  });

  test("gives back a last attempt as well", async () => {
    const id = await running({ max_attempts: 1 });
    await call("release", id, 1);
    expect(await rows("claim", ["k"])).toMatchObject([{ attempts: 1, generation: 2 }]);
  });

  test("ends the job as cancelled where that was requested", async () => {
    const id = await running();
    await call("cancel", id);
    expect(await call("release", id, 1, 5000)).toBe(true);
    expect(await job(id)).toMatchObject({ status: "cancelled", finished_at: expect.any(Date) });
  });

  test("counts releases at the end of a budget in a row, which any other outcome ends", async () => {
    const id = await running();
    let generation = 1;
    const next = async (act: (generation: number) => Promise<unknown>) => {
      await act(generation);
      const [claimed] = await rows("claim_job", id);
      generation = claimed?.generation;
      return claimed?.budget_releases;
    };
    const budget = (g: number) => call("release", id, g, 0, "BUDGET_EXCEEDED");
    expect([await next(budget), await next(budget)]).toEqual([1, 2]);
    expect(await next((g) => call("release", id, g, 0, "OTHER"))).toBe(0);
    expect([await next(budget), await next(budget)]).toEqual([1, 2]);
    expect(await next((g) => call("fail", id, g, {}, false, 0))).toBe(0);
    expect(await next(budget)).toBe(1);
    expect(await next(() => age(id, 3_600_000))).toBe(0);
    expect(await next(budget)).toBe(1);
    expect(await next((g) => call("release", id, g))).toBe(0);
    expect((await job(id)).releases).toBe(8);
  });

  test("ten in a row are an event, and ten more are another", async () => {
    const id = await running();
    const often = async (times: number) => {
      for (let i = 0; i < times; i++) {
        const { generation } = await job(id);
        await call("release", id, generation, 0, "LATER");
        await rows("claim_job", id);
      }
      return (await events(id)).filter(({ event }) => event === "released_ten_times");
    };
    expect(await often(9)).toEqual([]);
    expect(await often(1)).toEqual([
      {
        event: "released_ten_times",
        generation: 10,
        code: "LATER",
        message: expect.stringMatching(/^ten releases in a row/),
      },
    ]);
    expect(await often(9)).toHaveLength(1);
    expect(await often(1)).toHaveLength(2);
    expect(await job(id)).toMatchObject({ releases: 20, generation: 21, attempts: 1 });
  });

  test("what others do to the job meanwhile does not hide them", async () => {
    const id = await running({ key: "a" });
    for (let generation = 1; generation <= 10; generation++) {
      await call("release", id, generation, 60_000);
      await call("extend", id, generation);
      await call("enqueue", "k", "{}", { key: "a", on_conflict: "replace" });
      await call("run_now", id);
      await rows("claim_job", id);
    }
    expect(await events(id)).toContainEqual(
      expect.objectContaining({ event: "released_ten_times", generation: 10 }),
    );
  });

  test("a failure in between begins the ten anew", async () => {
    const id = await running();
    for (let generation = 1; generation <= 15; generation++) {
      if (generation === 6) await call("fail", id, 6, {}, false, 0);
      else await call("release", id, generation);
      await rows("claim_job", id);
    }
    expect(await events(id)).not.toContainEqual(
      expect.objectContaining({ event: "released_ten_times" }),
    );
    await call("release", id, 16);
    expect((await events(id)).at(-1)).toMatchObject({ event: "released_ten_times" });
  });

  test("is accepted after the lease ran out, and refused after a reap or a new claim", async () => {
    const late = await running({}, 1000);
    await age(late, 2000);
    expect(await call("release", late, 1)).toBe(true);
    const id = await running({}, 1000);
    await age(id, 2000);
    await call("reap");
    for (const act of [
      () => undefined,
      () => rows("claim_job", id),
      () => call("complete", id, 2),
    ]) {
      await act();
      const { answer, changed } = await changes(id, () => call("release", id, 1, 0, "X"));
      expect([answer, changed]).toEqual([false, {}]);
    }
    expect((await events(id)).at(-1)).toEqual({
      event: "refused",
      generation: 1,
      detail: { action: "release", status: "completed", generation: 2 },
    });
  });

  test("is false for a job that nobody runs, and for its repetition", async () => {
    expect(await call("release", await enqueue(), 0)).toBe(false);
    expect(await call("release", "00000000-0000-7000-8000-000000000000", 1)).toBe(false);
    const id = await running();
    expect([await call("release", id, 1), await call("release", id, 1)]).toEqual([true, false]);
    expect((await job(id)).releases).toBe(1);
  });

  test("cuts a long code", async () => {
    const id = await running();
    await call("release", id, 1, 0, `${"c".repeat(99)}\u{1F600}tail`);
    expect((await job(id)).last_error_code).toBe(`${"c".repeat(99)}\u{1F600}`);
  });

  test.each([[-1], [null]])("refuses %j as a delay and changes nothing", async (delay) => {
    const id = await running();
    const { changed } = await changes(id, () =>
      expect(call("release", id, 1, delay)).rejects.toMatchObject({
        code: "LH002",
        message: `p_retry_after_ms is ${delay}`,
      }),
    );
    expect(changed).toEqual({});
  });
});
