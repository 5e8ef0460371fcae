import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const unknown = "00000000-0000-7000-8000-000000000000";

describe.each(backends)("run_now and remove on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running, job, changes, events, age, count } = fixture;

  describe("run_now", () => {
    test("makes a delayed job due, and counts its start_by from now", async () => {
      const id = await enqueue({ delay_ms: 3_600_000, start_within_ms: 1000 });
      const { answer, changed } = await changes(id, () => call("run_now", id));
      expect(answer).toEqual({ outcome: "due", id, status: "queued" });
      expect(changed).toEqual({
        run_after: expect.any(Date),
        start_by: new Date(changed.run_after.getTime() + 1000),
      });
      expect(await events(id)).toEqual([{ event: "run_now", generation: 0 }]);
      expect(await rows("claim", ["k"])).toMatchObject([{ id }]);
    });

    test("ends the backoff of a failure", async () => {
      const id = await running();
      await call("fail", id, 1, {});
      expect(await call("run_now", id)).toMatchObject({ outcome: "due" });
      expect(await rows("claim", ["k"])).toMatchObject([{ id, attempts: 2 }]);
    });

    test("gives a job that was not started in time another chance", async () => {
      const id = await enqueue({ start_within_ms: 60_000 });
      await age(id, 120_000);
      await call("run_now", id);
      expect(await rows("claim", ["k"])).toMatchObject([{ id }]);
    });

    test("leaves a running and a finished job alone, and knows no other", async () => {
      const [busy, done] = [await running(), await running()];
      await call("complete", done, 1);
      for (const [id, status] of [
        [busy, "running"],
        [done, "completed"],
      ] as const) {
        const { answer, changed } = await changes(id, () => call("run_now", id));
        expect(answer).toEqual({ outcome: "wrong_status", id, status });
        expect(changed).toEqual({});
      }
      const nobody = { outcome: "unknown", id: null, status: null };
      expect(await call("run_now", unknown)).toEqual(nobody);
      expect(await call("run_now", null)).toEqual(nobody);
    });
  });

  describe("remove", () => {
    test.each(["completed", "failed", "cancelled"])(
      "deletes a %s job with its events",
      async (status) => {
        const [id, other] = [await running(), await running()];
        await call("release", other, 1);
        if (status === "completed")
          await call("complete", id, 1, JSON.stringify("x".repeat(2 ** 20)));
        if (status === "failed") await call("fail", id, 1, {}, true);
        if (status === "cancelled") {
          await call("cancel", id);
          await call("release", id, 1);
        }
        expect(await events(id)).not.toEqual([]);
        expect(await call("remove", id)).toEqual({ outcome: "removed", id, status });
        expect(await job(id)).toBeUndefined();
        expect(await events(id)).toEqual([]);
        expect(await events(other)).toHaveLength(1);
        expect(await count()).toBe(1);
        expect(await call("remove", id)).toEqual({ outcome: "unknown", id: null, status: null });
      },
    );

    test("leaves an unfinished job alone", async () => {
      const [queued, busy] = [await enqueue(), await running({}, 1000)];
      await age(busy, 2000);
      for (const [id, status] of [
        [queued, "queued"],
        [busy, "running"],
      ] as const) {
        const { answer, changed } = await changes(id, () => call("remove", id));
        expect(answer).toEqual({ outcome: "wrong_status", id, status });
        expect(changed).toEqual({});
      }
      expect(await call("remove", null)).toEqual({ outcome: "unknown", id: null, status: null });
    });

    test("leaves the name under once in force", async () => {
      const id = await running({ once: "o" });
      await call("complete", id, 1);
      await call("remove", id);
      expect(await call("enqueue", "k", "{}", { once: "o" })).toEqual({
        ...{ outcome: "duplicate", id, status: null },
      });
      expect(await query("select from leasehold.jobs")).toEqual([]);
    });
  });
});
