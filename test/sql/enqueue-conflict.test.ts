import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

describe.each(backends)("enqueue and a busy key on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, enqueue, running, job, changes, events, count, span, age, session } = fixture;
  const again = (options: object = {}, payload: unknown = { v: 2 }) =>
    call("enqueue", "k", JSON.stringify(payload), { key: "a", ...options });
  const conflict = (holder: { id: string | null; status: string }) => ({
    outcome: "conflict",
    id: null,
    status: null,
    holder,
  });

  test("S18: a queued holder keeps its payload, whatever the newcomer brings", async () => {
    const id = await enqueue({ key: "a" }, { v: 1 });
    for (const payload of [{ v: 2 }, { v: 1 }]) {
      const { answer, changed } = await changes(id, () => again({ priority: 3 }, payload));
      expect(answer).toEqual(conflict({ id, status: "queued" }));
      expect(changed).toEqual({});
    }
    expect([await count(), await events(id)]).toEqual([1, []]);
  });

  test("S13: a running holder is named, and a finished one is no holder", async () => {
    const id = await running({ key: "a" });
    for (const on_conflict of ["conflict", "replace"]) {
      const { answer, changed } = await changes(id, () => again({ on_conflict }));
      expect(answer).toEqual(conflict({ id, status: "running" }));
      expect(changed).toEqual({});
    }
    await call("complete", id, 1);
    const next = await again();
    expect(next).toEqual({ outcome: "created", id: expect.any(String), status: "queued" });
    expect(next.id).not.toBe(id);
    expect(await count()).toBe(2);
  });

  test.each(["completed", "failed", "cancelled"])("a %s job frees its key", async (status) => {
    const id = await running({ key: "a" });
    if (status === "completed") await call("complete", id, 1);
    if (status === "failed") await call("fail", id, 1, {}, true);
    if (status === "cancelled") {
      await call("cancel", id);
      await call("release", id, 1);
    }
    expect(await job(id)).toMatchObject({ status });
    expect(await again()).toMatchObject({ outcome: "created" });
  });

  test("keys are per kind", async () => {
    await enqueue({ key: "a" });
    expect(await call("enqueue", "other", "{}", { key: "a" })).toMatchObject({
      outcome: "created",
    });
  });

  test.each([
    ["another owner's", "ann", "bob"],
    ["a nameless owner's", null, "bob"],
    ["an owner's, for one without a name", "ann", null],
  ])("S17: %s job is a holder without id, and is neither replaced nor re-run", async (_, a, b) => {
    const id = await enqueue({ key: "a", owner: a });
    for (const status of ["queued", "running"]) {
      for (const on_conflict of ["conflict", "replace", "rerun"]) {
        const { answer, changed } = await changes(id, () => again({ owner: b, on_conflict }));
        expect(answer).toEqual(conflict({ id: null, status }));
        expect(changed).toEqual({});
      }
      await call("claim_job", id);
    }
    expect(await count()).toBe(1);
  });

  test("a transaction goes on after a conflict", async () => {
    const id = await enqueue({ key: "a" });
    await session(async (own) => {
      await own.query("begin");
      expect(await own.call("enqueue", "k", "{}", { key: "a" })).toMatchObject({
        holder: { id },
      });
      await own.call("enqueue", "k", "{}", { key: "b" });
      await own.query("commit");
    });
    expect(await count()).toBe(2);
  });

  describe("an orphan", () => {
    test("on its last attempt has failed, and the newcomer is created", async () => {
      const id = await running({ key: "a", max_attempts: 1 }, 1000);
      await age(id, 2000);
      const { answer, changed } = await changes(id, again);
      expect(answer).toMatchObject({ outcome: "created" });
      expect(answer.id).not.toBe(id);
      expect(changed).toEqual({
        status: "failed",
        lease_until: null,
        finished_at: expect.any(Date),
        last_error_code: "LEASE_EXPIRED",
        last_error_message: "the worker's lease ran out: it died, froze, or lost the database",
      });
      expect(await job(answer.id)).toMatchObject({ payload: { v: 2 }, attempts: 0 });
    });

    test("with attempts left is queued again, and holds the key", async () => {
      const id = await running({ key: "a" }, 1000);
      await age(id, 2000);
      const { answer, changed } = await changes(id, again);
      expect(answer).toEqual(conflict({ id, status: "queued" }));
      expect(changed).toEqual({
        status: "queued",
        lease_until: null,
        timeout_at: null,
        last_error_code: "LEASE_EXPIRED",
        last_error_message: expect.any(String),
      });
    });

    test("with attempts left takes the newer payload on replace and on rerun", async () => {
      for (const on_conflict of ["replace", "rerun"]) {
        const id = await running({ key: "a" }, 1000);
        await age(id, 2000);
        expect(await again({ on_conflict })).toEqual({ outcome: "replaced", id, status: "queued" });
        expect(await job(id)).toMatchObject({ payload: { v: 2 }, attempts: 1, rerun: null });
        await call("cancel", id);
      }
    });

    test("whose cancel was requested is cancelled, and the newcomer is created", async () => {
      const id = await running({ key: "a" }, 1000);
      await call("cancel", id);
      await age(id, 2000);
      expect(await again()).toMatchObject({ outcome: "created" });
      expect(await job(id)).toMatchObject({ status: "cancelled" });
    });

    test("that nobody started in time has failed, and the newcomer is created", async () => {
      for (const on_conflict of ["conflict", "replace", "rerun"]) {
        const id = await enqueue({ key: "a", start_within_ms: 1000 });
        await age(id, 2000);
        const answer = await again({ on_conflict });
        expect(answer).toMatchObject({ outcome: "created" });
        expect(await job(id)).toMatchObject({ status: "failed", last_error_code: "NOT_STARTED" });
        await call("cancel", answer.id);
      }
    });

    test("of another owner is reaped as well", async () => {
      const id = await running({ key: "a", owner: "ann", max_attempts: 1 }, 1000);
      await age(id, 2000);
      expect(await again({ owner: "bob" })).toMatchObject({ outcome: "created" });
      expect(await job(id)).toMatchObject({ status: "failed" });
    });
  });

  describe("replace", () => {
    test("gives a queued holder payload and run_after, and nothing else", async () => {
      const id = await enqueue({ key: "a", delay_ms: 5000, start_within_ms: 1000 }, { v: 1 });
      const { answer, changed } = await changes(id, () =>
        again({ on_conflict: "replace", delay_ms: 60_000, priority: 9, max_attempts: 1 }),
      );
      expect(answer).toEqual({ outcome: "replaced", id, status: "queued" });
      expect(changed).toEqual({
        payload: { v: 2 },
        run_after: expect.any(Date),
        start_by: expect.any(Date),
      });
      expect(await span(id, "start_by - run_after")).toBe(1000);
      expect(await span(id, "run_after - created_at")).toBeGreaterThanOrEqual(60_000);
      expect(await events(id)).toEqual([{ event: "replaced", generation: 0 }]);
      expect(await count()).toBe(1);
    });

    test("brings a job that was never tried forward", async () => {
      const id = await enqueue({ key: "a", delay_ms: 60_000 });
      await again({ on_conflict: "replace" });
      expect(await span(id, "run_after - created_at")).toBeLessThan(60_000);
      expect(await rows("claim", ["k"])).toMatchObject([{ id, payload: { v: 2 } }]);
    });

    test.each([
      ["failed", "fail", [{}, false, 60_000]],
      ["was released", "release", [60_000]],
    ] as const)("waits for the later moment where the job %s before", async (_, name, values) => {
      const id = await running({ key: "a" });
      await call(name, id, 1, ...values);
      const { changed } = await changes(id, () => again({ on_conflict: "replace" }));
      expect(changed).toEqual({ payload: { v: 2 } });
      await again({ on_conflict: "replace", delay_ms: 120_000 });
      expect(await span(id, "run_after - created_at")).toBeGreaterThanOrEqual(120_000);
    });

    test("creates where the key is free", async () => {
      const answer = await again({ on_conflict: "replace" });
      expect(answer).toEqual({ outcome: "created", id: expect.any(String), status: "queued" });
    });
  });
});
