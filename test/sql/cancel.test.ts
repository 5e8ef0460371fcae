import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const unknown = "00000000-0000-7000-8000-000000000000";

describe.each(backends)("cancel on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, enqueue, running, job, changes, events, age, count } = fixture;

  test("ends a queued job at once", async () => {
    const id = await enqueue({ key: "a", delay_ms: 5000 });
    const { answer, changed } = await changes(id, () => call("cancel", id));
    expect(answer).toEqual({ outcome: "cancelled", status: "cancelled" });
    expect(changed).toEqual({ status: "cancelled", finished_at: expect.any(Date) });
    expect(await events(id)).toEqual([{ event: "cancelled", generation: 0 }]);
    expect(await call("enqueue", "k", "{}", { key: "a" })).toMatchObject({ outcome: "created" });
  });

  test("asks a running job to stop, once", async () => {
    const id = await running({ key: "a" });
    const { answer, changed } = await changes(id, () => call("cancel", id));
    expect(answer).toEqual({ outcome: "requested", status: "running" });
    expect(changed).toEqual({ cancel_requested_at: expect.any(Date) });
    const again = await changes(id, () => call("cancel", id));
    expect(again).toEqual({ answer, changed: {} });
    expect(await events(id)).toEqual([{ event: "cancel_requested", generation: 1 }]);
    expect(await call("extend", id, 1)).toMatchObject({ held: true, cancel_requested: true });
    expect(await call("enqueue", "k", "{}", { key: "a" })).toMatchObject({ outcome: "conflict" });
  });

  test.each([
    ["fail", [{}], "cancelled"],
    ["fail", [{}, true], "cancelled"],
    ["release", [], "cancelled"],
    ["complete", [], "completed"],
  ])("a job that was asked ends with %s%j as %s", async (name, values, status) => {
    const id = await running();
    await call("cancel", id);
    await call(name, id, 1, ...values);
    expect(await job(id)).toMatchObject({ status, finished_at: expect.any(Date) });
    expect(await rows("claim", ["k"])).toEqual([]);
  });

  test.each([1, 5])(
    "a job of %i attempts that was asked and died is cancelled by a reap",
    async (max_attempts) => {
      const id = await running({ max_attempts }, 1000);
      await call("cancel", id);
      await age(id, 2000);
      expect(await rows("claim", ["k"])).toEqual([]);
      expect(await job(id)).toMatchObject({
        status: "cancelled",
        finished_at: expect.any(Date),
        last_error_code: "LEASE_EXPIRED",
      });
      expect((await events(id)).at(-1)).toMatchObject({
        event: "reaped",
        detail: { to: "cancelled" },
      });
    },
  );

  test("reaps first: what was running is queued by then, and cancelled at once", async () => {
    const id = await running({}, 1000);
    await age(id, 2000);
    expect(await call("cancel", id)).toEqual({ outcome: "cancelled", status: "cancelled" });
    expect(await job(id)).toMatchObject({ status: "cancelled", cancel_requested_at: null });
    expect(await events(id)).toMatchObject([{ event: "reaped" }, { event: "cancelled" }]);
  });

  test("reaps first: a last attempt has failed, and an unstarted job too", async () => {
    const last = await running({ max_attempts: 1 }, 1000);
    const unstarted = await enqueue({ start_within_ms: 1000 });
    for (const id of [last, unstarted]) {
      await age(id, 2000);
      expect(await call("cancel", id)).toEqual({ outcome: "finished", status: "failed" });
    }
  });

  test.each(["completed", "failed", "cancelled"])("is too late for a %s job", async (status) => {
    const id = await running();
    if (status === "completed") await call("complete", id, 1);
    else if (status === "failed") await call("fail", id, 1, {}, true);
    else {
      await call("release", id, 1);
      await call("cancel", id);
    }
    const { answer, changed } = await changes(id, () => call("cancel", id));
    expect(answer).toEqual({ outcome: "finished", status });
    expect(changed).toEqual({});
  });

  test("does not know another owner's job, as one that does not exist", async () => {
    const id = await running({ owner: "ann" }, 1000);
    const bare = await enqueue();
    await age(id, 2000);
    const unknownJob = { outcome: "unknown", status: null };
    const { answer, changed } = await changes(id, () => call("cancel", id, "bob"));
    expect([answer, changed]).toEqual([unknownJob, {}]);
    expect(await events(id)).toEqual([]);
    expect(await call("cancel", bare, "bob")).toEqual(unknownJob);
    expect(await call("cancel", unknown, "bob")).toEqual(unknownJob);
    expect(await call("cancel", unknown)).toEqual(unknownJob);
    expect(await call("cancel", null)).toEqual(unknownJob);
    expect(await call("cancel", id, "ann")).toMatchObject({ outcome: "cancelled" });
  });

  describe("cancel_many", () => {
    const many = (filter: object) => call("cancel_many", filter);

    test("cancels what is queued and asks what is running", async () => {
      const [queued, busy] = [await enqueue(), await running()];
      const done = await running();
      await call("complete", done, 1);
      const other = (await call("enqueue", "other")).id;
      expect(await many({ kind: "k" })).toEqual({ cancelled: 1, requested: 1, skipped: [] });
      expect(await job(queued)).toMatchObject({ status: "cancelled" });
      expect(await job(busy)).toMatchObject({ cancel_requested_at: expect.any(Date) });
      expect(await job(done)).toMatchObject({ status: "completed" });
      expect(await job(other)).toMatchObject({ status: "queued" });
    });

    test("tells what it did with each id it was given", async () => {
      const [queued, busy, done] = [await enqueue(), await running(), await running()];
      await call("complete", done, 1);
      const answer = await many({ ids: [done, unknown, busy, queued] });
      expect(answer).toEqual({
        cancelled: 1,
        requested: 1,
        skipped: expect.arrayContaining([
          { id: unknown, outcome: "unknown" },
          { id: done, outcome: "finished" },
        ]),
      });
      expect(answer.skipped).toHaveLength(2);
    });

    test("an owner's filter reaches no other owner's job", async () => {
      const [anns, bobs] = [await enqueue({ owner: "ann" }), await enqueue({ owner: "bob" })];
      expect(await many({ ids: [anns, bobs], owner: "ann" })).toEqual({
        cancelled: 1,
        requested: 0,
        skipped: [{ id: bobs, outcome: "unknown" }],
      });
      expect((await job(bobs)).status).toBe("queued");
    });

    test("takes the filter's status, key and limit", async () => {
      const [a, b] = [await enqueue({ key: "a" }), await running({ key: "b" })];
      expect(await many({ status: "running" })).toEqual({
        ...{ cancelled: 0, requested: 1, skipped: [] },
      });
      expect(await many({ key: "a" })).toEqual({ cancelled: 1, requested: 0, skipped: [] });
      expect(await job(a)).toMatchObject({ status: "cancelled" });
      expect(await job(b)).toMatchObject({ status: "running" });
      for (let i = 0; i < 3; i++) await enqueue({ owner: "ann" });
      expect(await many({ owner: "ann", limit: 2 })).toMatchObject({ cancelled: 2 });
      expect(await count("jobs where status = 'queued'")).toBe(1);
    });

    test("reaps what died: it is cancelled, or told as finished", async () => {
      const [again, last] = [await running({}, 1000), await running({ max_attempts: 1 }, 1000)];
      for (const id of [again, last]) await age(id, 2000);
      expect(await many({ kind: "k" })).toEqual({
        cancelled: 1,
        requested: 0,
        skipped: [{ id: last, outcome: "finished" }],
      });
    });

    test("refuses a filter that it does not understand, and cancels nothing", async () => {
      const id = await enqueue();
      for (const [filter, code] of [
        [{ kinds: ["k"] }, "LH003"],
        [{ status: "open" }, "LH002"],
        [{ ids: "all" }, "LH002"],
        [null, "LH002"],
      ] as const) {
        await expect(call("cancel_many", filter)).rejects.toMatchObject({ code });
      }
      expect((await job(id)).status).toBe("queued");
    });
  });
});
