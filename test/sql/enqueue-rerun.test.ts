import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

describe.each(backends)("enqueue with on_conflict rerun on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, enqueue, running, job, changes, events, span, count, age } = fixture;
  const again = (payload: unknown = { v: 2 }, options: object = {}) =>
    call("enqueue", "k", JSON.stringify(payload), { key: "a", on_conflict: "rerun", ...options });

  /** A running job, generation 1, that runs again with {v: 2} when it ends. */
  const withRerun = async (options: object = {}, leaseMs?: number): Promise<string> => {
    const id = await running({ key: "a", ...options }, leaseMs);
    expect(await again()).toEqual({ outcome: "rerun", id, status: "running" });
    return id;
  };
  const begun = { status: "queued", payload: { v: 2 }, rerun: null, run: 2, attempts: 0 };

  test("creates where the key is free, and replaces a queued holder", async () => {
    const { id, outcome } = await again({ v: 1 });
    expect(outcome).toBe("created");
    expect(await again()).toEqual({ outcome: "replaced", id, status: "queued" });
    expect(await job(id)).toMatchObject({ payload: { v: 2 }, rerun: null, run: 1 });
  });

  test("leaves a running holder at work, and keeps the payload for its next run", async () => {
    const id = await running({ key: "a" });
    const { answer, changed } = await changes(id, again);
    expect(answer).toEqual({ outcome: "rerun", id, status: "running" });
    expect(changed).toEqual({ rerun: { v: 2 }, run_after: expect.any(Date) });
    expect(await count()).toBe(1);
    expect(await call("extend", id, 1)).toMatchObject({ held: true });
  });

  test("the last of several payloads counts, and makes one run", async () => {
    const id = await withRerun();
    expect(await again({ v: 3 })).toEqual({ outcome: "rerun", id, status: "running" });
    expect(await again(null)).toEqual({ outcome: "rerun", id, status: "running" });
    expect(await again({ v: 4 })).toEqual({ outcome: "rerun", id, status: "running" });
    await call("complete", id, 1);
    expect(await job(id)).toMatchObject({ ...begun, payload: { v: 4 } });
    await call("claim_job", id);
    await call("complete", id, 2);
    expect(await job(id)).toMatchObject({ status: "completed", run: 2 });
  });

  test("a payload of null makes a run as well", async () => {
    const id = await running({ key: "a" });
    await again(null);
    await call("complete", id, 1);
    expect(await job(id)).toMatchObject({ ...begun, payload: null });
  });

  test("complete leads into the next run, and keeps what belongs to the job", async () => {
    const id = await withRerun({ max_attempts: 3, priority: 4, owner: undefined });
    await call("extend", id, 1, null, { done: 1 });
    const { answer, changed } = await changes(id, () => call("complete", id, 1, { ok: true }));
    expect(answer).toBe(true);
    expect(changed).toEqual({
      ...begun,
      progress: null,
      lease_until: null,
      timeout_at: null,
      started_at: null,
    });
    expect(await job(id)).toMatchObject({ result: null, finished_at: null, generation: 1 });
    expect(await events(id)).toEqual([
      { event: "rerun", generation: 1, detail: { after: "completed" } },
    ]);
    expect(await rows("claim", ["k"])).toMatchObject([
      { id, generation: 2, attempts: 1, payload: { v: 2 } },
    ]);
  });

  test("complete is true again until the next claim, whatever happens before it", async () => {
    const id = await withRerun();
    expect(await call("complete", id, 1)).toBe(true);
    const { answer, changed } = await changes(id, () => call("complete", id, 1));
    expect([answer, changed]).toEqual([true, {}]);
    await call("cancel", id);
    expect(await call("complete", id, 1)).toBe(true);
    await call("retry", id);
    expect(await call("complete", id, 1)).toBe(true);
    await call("claim_job", id);
    expect(await call("complete", id, 1)).toBe(false);
    await call("release", id, 2);
    expect(await call("complete", id, 1)).toBe(false);
    expect(await call("complete", id, 2)).toBe(false);
  });

  test("fail leads into the next run after its backoff, even a permanent one", async () => {
    const id = await withRerun();
    const failed = await changes(id, () => call("fail", id, 1, { code: "X", message: "m" }));
    expect(failed.answer).toBe("queued");
    expect(failed.changed).toMatchObject({ ...begun, last_error_code: "X", started_at: null });
    expect(await span(id, "run_after - claimed_at")).toBeGreaterThanOrEqual(60_000);
    expect(await call("complete", id, 1)).toBe(false);
    await call("run_now", id);
    await call("claim_job", id);
    await again({ v: 3 });
    expect(await call("fail", id, 2, { code: "Y", message: "m" }, true)).toBe("queued");
    expect(await job(id)).toMatchObject({ ...begun, payload: { v: 3 }, run: 3 });
    expect(await span(id, "run_after - claimed_at")).toBeLessThan(60_000);
  });

  test("the last attempt leads into the next run as well, with all its attempts", async () => {
    const id = await withRerun({ max_attempts: 1 });
    expect(await call("fail", id, 1, {})).toBe("queued");
    expect(await job(id)).toMatchObject(begun);
    expect(await rows("claim_job", id)).toMatchObject([{ attempts: 1, generation: 2 }]);
  });

  test("release leads into the next run after its delay", async () => {
    const id = await withRerun();
    expect(await call("release", id, 1, 60_000, "LATER")).toBe(true);
    expect(await job(id)).toMatchObject({ ...begun, releases: 0, last_error_code: "LATER" });
    expect(await span(id, "run_after - claimed_at")).toBeGreaterThanOrEqual(60_000);
  });

  test.each([1, 5])("a reap leads into the next run, of %i attempts", async (max_attempts) => {
    const id = await withRerun({ max_attempts }, 1000);
    await age(id, 2000);
    expect(await call("reap")).toBe(1);
    expect(await job(id)).toMatchObject({ ...begun, last_error_code: "LEASE_EXPIRED" });
    expect(await call("complete", id, 1)).toBe(false);
    expect(await rows("claim", ["k"])).toMatchObject([{ id, generation: 2, payload: { v: 2 } }]);
  });

  test("finish_many leads into the next run, and again says so when repeated", async () => {
    const id = await withRerun();
    const outcomes = JSON.stringify([{ id, generation: 1, action: "complete", result: 1 }]);
    const answer = { done: [{ id, status: "queued" }], refused: [], busy: [] };
    expect(await call("finish_many", outcomes)).toEqual(answer);
    expect(await job(id)).toMatchObject({ ...begun, result: null });
    expect(await call("finish_many", outcomes)).toEqual(answer);
    await call("claim_job", id);
    expect(await call("finish_many", outcomes)).toEqual({ done: [], refused: [id], busy: [] });
  });

  test.each([
    ["fail", [{}], "cancelled"],
    ["release", [], "cancelled"],
    ["complete", [{ ok: true }], "completed"],
  ])("a requested cancel drops it: %s ends the job", async (name, values, status) => {
    const id = await withRerun();
    await call("cancel", id);
    await call(name, id, 1, ...values);
    expect(await job(id)).toMatchObject({ status, payload: {}, rerun: null, run: 1 });
    expect(await again()).toMatchObject({ outcome: "created" });
  });

  test("a requested cancel drops it: finish_many and reap end the job", async () => {
    const id = await withRerun({}, 1000);
    await call("cancel", id);
    await age(id, 2000);
    await call("reap");
    expect(await job(id)).toMatchObject({ status: "cancelled", rerun: null, run: 1 });
    const other = await withRerun();
    await call("cancel", other);
    await call("finish_many", JSON.stringify([{ id: other, generation: 1, action: "complete" }]));
    expect(await job(other)).toMatchObject({ status: "completed", rerun: null, run: 1 });
  });

  test("a job whose cancel is requested runs no more: conflict", async () => {
    const id = await running({ key: "a" });
    await call("cancel", id);
    const { answer, changed } = await changes(id, again);
    expect(answer).toMatchObject({ outcome: "conflict", holder: { id, status: "running" } });
    expect(changed).toEqual({});
  });

  test("its delay holds for the next run, and start_by counts from there", async () => {
    const id = await running({ key: "a", start_within_ms: 60_000 });
    await again({ v: 2 }, { delay_ms: 60_000 });
    await call("complete", id, 1);
    expect(await span(id, "run_after - claimed_at")).toBeGreaterThanOrEqual(60_000);
    expect(await span(id, "start_by - run_after")).toBe(60_000);
    expect(await rows("claim", ["k"])).toEqual([]);
  });

  test("the next run completes like any job, and status shows it", async () => {
    const id = await withRerun();
    await call("complete", id, 1);
    expect(await call("status", id)).toMatchObject({ status: "queued", notice: "queued" });
    await call("claim_job", id);
    expect(await call("complete", id, 2, { ok: 2 })).toBe(true);
    expect(await call("status", id)).toMatchObject({ status: "completed", result: { ok: 2 } });
    expect(await enqueue({ key: "a" })).not.toBe(id);
  });
});
