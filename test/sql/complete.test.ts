import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, useDatabase } from "./support/calls.ts";

describe.each(backends)("complete on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, enqueue, running, job, changes, events, age } = fixture;

  test("ends the job with its result", async () => {
    const id = await running();
    await call("extend", id, 1, null, { at: 1 });
    const { answer, changed } = await changes(id, () => call("complete", id, 1, { ok: [1] }));
    expect(answer).toBe(true);
    expect(changed).toEqual({
      status: "completed",
      result: { ok: [1] },
      lease_until: null,
      finished_at: expect.any(Date),
    });
    expect(await events(id)).toEqual([]);
  });

  test("needs no result, and takes any", async () => {
    const bare = await running();
    await call("complete", bare, 1);
    expect((await job(bare)).result).toBeNull();
    for (const result of ["5", '"text"', "[]", "false"]) {
      const id = await running();
      await call("complete", id, 1, result);
      expect((await job(id)).result).toEqual(JSON.parse(result));
    }
  });

  test("keeps what an earlier attempt left as its error, and ends the row of budget releases", async () => {
    const id = await running();
    await call("fail", id, 1, { code: "X", message: "first" }, false, 0);
    await rows("claim_job", id);
    await call("release", id, 2, 0, "BUDGET_EXCEEDED");
    await rows("claim_job", id);
    await call("complete", id, 3, {});
    expect(await job(id)).toMatchObject({
      status: "completed",
      last_error_code: "BUDGET_EXCEEDED",
      releases: 1,
      budget_releases: 0,
      attempts: 2,
    });
  });

  test("is true again when repeated, and changes nothing then", async () => {
    const id = await running();
    await call("complete", id, 1, { v: 1 });
    const { answer, changed } = await changes(id, () => call("complete", id, 1, { v: 2 }));
    expect([answer, changed]).toEqual([true, {}]);
    expect(await events(id)).toEqual([]);
  });

  test("S40: is accepted after the lease ran out, and nobody reaps it then", async () => {
    const id = await running({ max_attempts: 1 }, 1000, 1500);
    await age(id, 2000);
    expect(await call("complete", id, 1, { ok: true })).toBe(true);
    await call("reap");
    expect(await call("status", id)).toMatchObject({ status: "completed", result: { ok: true } });
    expect(await events(id)).toEqual([]);
  });

  test("S40: is refused after a reap, and the result is not stored", async () => {
    const id = await running({ max_attempts: 1 }, 1000);
    await age(id, 2000);
    expect(await call("status", id)).toMatchObject({ status: "failed" });
    const { answer, changed } = await changes(id, () => call("complete", id, 1, { ok: true }));
    expect([answer, changed]).toEqual([false, {}]);
    expect((await events(id)).at(-1)).toEqual({
      event: "refused",
      generation: 1,
      detail: { action: "complete", status: "failed", generation: 1 },
    });
  });

  test("is refused under any generation but the claim's own", async () => {
    const id = await running({}, 1000);
    await age(id, 2000);
    await rows("claim_job", id);
    for (const generation of [1, 0, 3, -1, null]) {
      const { answer, changed } = await changes(id, () => call("complete", id, generation, {}));
      expect([answer, changed]).toEqual([false, {}]);
    }
    expect(await call("complete", id, 2)).toBe(true);
    expect(await call("complete", id, 1)).toBe(false);
  });

  test("is refused for a queued, a failed and a cancelled job, and an unknown one", async () => {
    const queued = await enqueue();
    expect(await call("complete", queued, 0)).toBe(false);
    await call("cancel", queued);
    expect(await call("complete", queued, 0)).toBe(false);
    const failed = await running();
    await call("fail", failed, 1, {}, true);
    expect(await call("complete", failed, 1)).toBe(false);
    expect(await call("complete", "00000000-0000-7000-8000-000000000000", 1)).toBe(false);
    expect(await call("complete", null, null)).toBe(false);
  });

  test("a requested cancel comes too late", async () => {
    const id = await running();
    await call("cancel", id);
    expect(await call("complete", id, 1, 1)).toBe(true);
    expect(await job(id)).toMatchObject({ status: "completed", result: 1 });
  });

  test("keeps a result of 1 MB, and drops a larger one, for the work is done", async () => {
    const [fits, drops] = [await running(), await running()];
    expect(await call("complete", fits, 1, json("x".repeat(1_048_574)))).toBe(true);
    expect((await job(fits)).result).toHaveLength(1_048_574);
    expect(await call("complete", drops, 1, json("x".repeat(1_048_575)))).toBe(true);
    expect(await job(drops)).toMatchObject({ status: "completed", result: null });
    expect(await events(drops)).toEqual([
      {
        event: "result_dropped",
        generation: 1,
        code: "RESULT_DROPPED",
        message: "the result has 1048577 bytes, more than 1048576",
      },
    ]);
    expect(await call("complete", drops, 1)).toBe(true);
  });
});
