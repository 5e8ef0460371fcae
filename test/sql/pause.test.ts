import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

describe.each(backends)("pause, resume and has_due_work on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running, job, changes, age, session } = fixture;

  test("a paused kind is not claimed, until it is resumed", async () => {
    const id = await enqueue();
    expect(await call("pause", "k")).toBe(true);
    expect(await rows("claim", ["k"])).toEqual([]);
    expect(await rows("claim_job", id)).toEqual([]);
    expect(await call("resume", "k")).toBe(true);
    expect(await rows("claim", ["k"])).toMatchObject([{ id }]);
  });

  test("a second pause or resume says that it was so already, and changes nothing", async () => {
    const kinds = () => query("select kind, paused_at, xmin::text from leasehold.kinds");
    expect(await call("resume", "k")).toBe(false);
    expect(await kinds()).toEqual([]);
    await call("pause", "k");
    const paused = await kinds();
    expect(paused).toMatchObject([{ kind: "k", paused_at: expect.any(Date) }]);
    expect(await call("pause", "k")).toBe(false);
    expect(await kinds()).toEqual(paused);
    await call("resume", "k");
    expect(await call("resume", "k")).toBe(false);
    expect(await kinds()).toMatchObject([{ kind: "k", paused_at: null }]);
  });

  test("running jobs of a paused kind go on, and new ones are taken in", async () => {
    const id = await running();
    await call("pause", "k");
    expect(await call("extend", id, 1)).toMatchObject({ held: true });
    expect(await call("complete", id, 1)).toBe(true);
    expect(await call("enqueue", "k")).toMatchObject({ outcome: "created" });
  });

  test("a pause leaves the kind's defaults as they are", async () => {
    await call("define_kind", "k", { max_attempts: 2 });
    await call("pause", "k");
    expect(await job(await enqueue())).toMatchObject({ max_attempts: 2 });
    await call("resume", "k");
    expect(await query("select max_attempts from leasehold.kinds")).toEqual([{ max_attempts: 2 }]);
  });

  test.each(["pause", "resume"])("%s refuses what is no kind of a user's", async (name) => {
    for (const kind of [null, "", " ", "leasehold.reconcile"]) {
      await expect(call(name, kind)).rejects.toMatchObject({
        code: "LH002",
        message: expect.stringMatching(/^kind is /),
      });
    }
  });

  describe("has_due_work", () => {
    const hasWork = (kinds: string[] | null = null) => call("has_due_work", kinds);

    test("is true for a due job of these kinds, or of any", async () => {
      expect(await call("has_due_work")).toBe(false);
      expect(await hasWork(["k"])).toBe(false);
      const id = await enqueue();
      expect([await hasWork(), await hasWork(["k"]), await hasWork(["a", "k"])]).toEqual([
        ...[true, true, true],
      ]);
      expect(await hasWork(["other"])).toBe(false);
      await rows("claim_job", id);
      expect([await hasWork(), await hasWork(["k"])]).toEqual([false, false]);
      await call("complete", id, 1);
      expect([await hasWork(), await hasWork(["k"])]).toEqual([false, false]);
    });

    test("is false for a delayed job, and finds a due one behind it", async () => {
      await enqueue({ delay_ms: 60_000, priority: -5 });
      expect([await hasWork(), await hasWork(["k"])]).toEqual([false, false]);
      await enqueue({ priority: 5 });
      expect([await hasWork(), await hasWork(["k"])]).toEqual([true, true]);
    });

    test("is true for what only a reap would find", async () => {
      const expired = await running({ max_attempts: 1 }, 1000);
      await age(expired, 2000);
      expect([await hasWork(), await hasWork(["k"])]).toEqual([true, true]);
      await rows("claim", ["k"]);
      expect(await hasWork()).toBe(false);
      const unstarted = await enqueue({ delay_ms: 60_000, start_within_ms: 1 });
      expect(await hasWork()).toBe(false);
      await query("update leasehold.jobs set start_by = now() where id = $1", [unstarted]);
      expect([await hasWork(), await hasWork(["k"])]).toEqual([true, true]);
    });

    test("is false for paused kinds, whatever they have", async () => {
      await enqueue();
      await age(await running({}, 1000), 2000);
      await call("pause", "k");
      expect([await hasWork(), await hasWork(["k"])]).toEqual([false, false]);
      await call("enqueue", "other");
      expect([await hasWork(), await hasWork(["k", "other"])]).toEqual([true, true]);
    });

    test("writes nothing, and runs in a read-only transaction", async () => {
      const id = await running({}, 1000);
      await age(id, 2000);
      const { changed } = await changes(id, () =>
        session(async (own) => {
          await own.query("begin read only");
          expect(await own.call("has_due_work", ["k"])).toBe(true);
          expect(await own.call("has_due_work")).toBe(true);
          await own.query("commit");
        }),
      );
      expect(changed).toEqual({});
    });

    test("refuses empty and null kinds", async () => {
      for (const kinds of [[], ["k", null]]) {
        await expect(call("has_due_work", kinds)).rejects.toMatchObject({ code: "LH002" });
      }
    });

    test("agrees with claim, whatever stands in the queue", async () => {
      for (const kind of ["a", "b", "c"]) {
        await call("enqueue", kind, "{}", { priority: 3, delay_ms: kind === "b" ? 0 : 60_000 });
        await call("enqueue", kind, "{}", { priority: -3, delay_ms: 60_000 });
      }
      for (const kinds of [["a"], ["b"], ["a", "c"], ["a", "b", "c"], ["none"]]) {
        const due = await hasWork(kinds);
        await session(async (own) => {
          await own.query("begin");
          expect((await own.rows("claim", kinds, 10)).length > 0).toBe(due);
          await own.query("rollback");
        });
      }
    });
  });
});
