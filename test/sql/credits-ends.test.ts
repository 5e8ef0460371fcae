import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import { backends } from "../support/databases.ts";
import { json } from "./support/calls.ts";
import { paid, useCredits } from "./support/credits.ts";

describe.each(backends)("the end of a job that costs credits on %s", (backend) => {
  const fixture = useCredits(backend);
  const { call, query, enqueue, running, job, age, count } = fixture;
  const { grant, credits, kinds, money } = fixture;

  test("complete captures, once, and touches no account", async () => {
    await grant();
    const id = await running(paid);
    expect(await call("complete", id, 1, '"ok"')).toBe(true);
    expect(await call("complete", id, 1, '"ok"')).toBe(true);
    expect(await credits()).toEqual({ account: "ann", available: 7, held: 0 });
    expect(await kinds()).toEqual(["grant", "hold", "capture"]);
    expect(await call("status", id)).toMatchObject({
      money: "captured",
      notice: "completed_captured",
    });
  });

  test("a hold that has ended can't end again, even where the job says that it holds", async () => {
    await grant();
    const id = await running(paid);
    await call("complete", id, 1);
    const row = await job(id);
    await query(
      `update leasehold.jobs set status = 'running', money = 'held', finished_at = null,
         lease_until = clock_timestamp() where id = $1`,
      [id],
    );
    await expect(call("complete", id, 1)).rejects.toThrow();
    await expect(call("fail", id, 1, { code: "X", message: "x" }, true)).rejects.toThrow();
    await query(
      `update leasehold.jobs set status = 'completed', money = 'captured', finished_at = $2,
         lease_until = null where id = $1`,
      [id, row?.finished_at],
    );
    expect(await kinds()).toEqual(["grant", "hold", "capture"]);
    expect(await credits()).toMatchObject({ available: 7, held: 0 });
  });

  const endings: Record<string, (id: string) => Promise<unknown>> = {
    "fail for good": (id) => call("fail", id, 1, { code: "X", message: "x" }, true),
    "a requested cancel and a release": async (id) => {
      await call("cancel", id);
      await call("release", id, 1);
    },
    "finish_many, failed": (id) =>
      call(
        "finish_many",
        json([
          {
            id,
            generation: 1,
            action: "fail",
            permanent: true,
            error: { code: "X", message: "x" },
          },
        ]),
      ),
    "a poller's reap": async (id) => {
      await age(id, 3_600_001);
      await call("status", id);
    },
    "a claim's reap": async (id) => {
      await age(id, 3_600_001);
      await fixture.rows("claim", ["k"], 1);
    },
    "reap()": async (id) => {
      await age(id, 3_600_001);
      await call("reap");
    },
    "an enqueue on its key": async (id) => {
      await age(id, 3_600_001);
      const answer = await call("enqueue", "k", "{}", { key: "a" });
      expect(answer).toMatchObject({ outcome: "created" });
    },
    "a bulk enqueue on its key": async (id) => {
      await age(id, 3_600_001);
      const [answer] = await call("enqueue_many", json([{ kind: "k", key: "a" }]));
      expect(answer).toMatchObject({ outcome: "created" });
      expect(answer).not.toHaveProperty("owed");
    },
    "cancel_many on an orphan": async (id) => {
      await age(id, 3_600_001);
      const answer = { cancelled: 0, requested: 0, skipped: [{ id, outcome: "finished" }] };
      expect(await call("cancel_many", { ids: [id] })).toEqual(answer);
    },
  };

  test.each(Object.keys(endings))("%s gives back, exactly once", async (how) => {
    await grant();
    const id = await running({ ...paid, key: "a", max_attempts: 1 });
    await endings[how]?.(id);
    expect(await money(id)).toBe("given_back");
    expect(await credits()).toMatchObject({ available: 10, held: 0 });
    expect(await kinds()).toEqual(["grant", "hold", "give_back"]);
    expect(await call("complete", id, 1)).toBe(false);
    expect(await call("fail", id, 1, { code: "X", message: "x" }, true)).toBe(null);
    expect(await count("entries")).toBe(3);
  });

  test("cancel of a queued job gives back; cancel_many does, over several accounts", async () => {
    await grant(10, "bob");
    await grant();
    const one = await enqueue(paid);
    await call("cancel", one);
    expect(await call("status", one)).toMatchObject({ notice: "cancelled_given_back" });
    const many = [await enqueue({ cost: 1, account: "bob" }), await enqueue(paid), await enqueue()];
    expect(await call("cancel_many", { ids: many })).toMatchObject({ cancelled: 3, skipped: [] });
    expect(await credits()).toMatchObject({ available: 10, held: 0 });
    expect(await credits("bob")).toMatchObject({ available: 10, held: 0 });
  });

  test("an attempt that failed and comes back keeps its hold", async () => {
    await grant();
    const id = await running(paid);
    expect(await call("fail", id, 1, { code: "X", message: "x" }, false, 0)).toBe("queued");
    expect(await job(id)).toMatchObject({ money: "held" });
    await fixture.rows("claim_job", id);
    expect(await call("release", id, 2)).toBe(true);
    await fixture.rows("claim_job", id);
    await age(id, 3_600_001);
    await call("reap");
    expect(await job(id)).toMatchObject({ money: "held", status: "queued" });
    await fixture.rows("claim_job", id);
    expect(await call("complete", id, 4)).toBe(true);
    expect(await kinds()).toEqual(["grant", "hold", "capture"]);
  });

  test("finish_many captures many, beside jobs that cost nothing", async () => {
    await grant();
    const ids = [await running(paid), await running(), await running(paid)];
    const outcomes = ids.map((id) => ({ id, generation: 1, action: "complete", result: id }));
    const answer = await call("finish_many", json(outcomes));
    expect(answer).toMatchObject({ refused: [], busy: [] });
    expect(answer.done.map((done: { id: string }) => done.id).sort()).toEqual([...ids].sort());
    expect(await credits()).toMatchObject({ available: 4, held: 0 });
    expect(await money(ids[0] as string)).toBe("captured");
  });

  test("retry takes a new hold of the same cost, or is insufficient", async () => {
    await grant(3);
    const id = await running(paid);
    await call("fail", id, 1, { code: "X", message: "x" }, true);
    const other = await enqueue(paid);
    const before = await job(id);
    expect(await call("retry", id)).toEqual({ outcome: "insufficient", id, status: "failed" });
    expect(await job(id)).toEqual(before);
    await call("cancel", other);
    expect(await call("retry", id)).toEqual({ outcome: "retried", id, status: "queued" });
    expect(await job(id)).toMatchObject({ money: "held", run: 2, status: "queued" });
    expect(await credits()).toMatchObject({ available: 0, held: 3 });
    await fixture.rows("claim_job", id);
    await call("complete", id, 2);
    expect(await credits()).toMatchObject({ available: 0, held: 0 });
  });

  test("retry_many takes holds in turn, and puts back what can't be paid", async () => {
    await grant(6);
    const ids: string[] = [];
    for (const key of ["a", "b"]) ids.push(await running({ ...paid, key }));
    for (const id of ids) await call("fail", id, 1, { code: "X", message: "x" }, true);
    const free = await enqueue();
    await call("cancel", free);
    await enqueue({ cost: 3, account: "ann" });
    const before = await job(ids[1] as string);
    expect(await call("retry_many", { kind: "k" })).toEqual({
      retried: 2,
      skipped: [{ id: ids[1], outcome: "insufficient" }],
    });
    expect(await job(ids[1] as string)).toEqual(before);
    expect(await credits()).toMatchObject({ available: 0, held: 6 });
  });

  test("a write of the ledger that fails leaves status and money together (S39)", async () => {
    await grant();
    const id = await running({ ...paid, max_attempts: 1 });
    await query(`create function leasehold_broken() returns trigger language plpgsql as
      $$ begin if new.kind = 'give_back' then raise exception 'broken'; end if; return new; end $$`);
    await query(`create trigger broken before insert on leasehold.entries
      for each row execute function leasehold_broken()`);
    try {
      await expect(call("fail", id, 1, { code: "X", message: "x" }, true)).rejects.toThrow(
        "broken",
      );
      expect(await job(id)).toMatchObject({ status: "running", money: "held" });
      await age(id, 3_600_001);
      await expect(call("status", id)).rejects.toThrow("broken");
      expect(await job(id)).toMatchObject({ status: "running", money: "held" });
    } finally {
      await query("drop trigger broken on leasehold.entries; drop function leasehold_broken()");
    }
    expect(await call("status", id)).toMatchObject({ status: "failed", money: "given_back" });
    expect(await kinds()).toEqual(["grant", "hold", "give_back"]);
  });

  test("reaped first, a late success changes nothing; completed first, a reap does not (S40)", async () => {
    await grant();
    const reaped = await running({ ...paid, max_attempts: 1 });
    await age(reaped, 60_001);
    expect(await call("status", reaped)).toMatchObject({ status: "failed", money: "given_back" });
    expect(await call("complete", reaped, 1, '"late"')).toBe(false);
    expect(await job(reaped)).toMatchObject({ result: null, money: "given_back" });
    const completed = await running({ ...paid, max_attempts: 1 });
    await age(completed, 60_001);
    expect(await call("complete", completed, 1)).toBe(true);
    expect(await call("status", completed)).toMatchObject({ money: "captured" });
    expect(await credits()).toMatchObject({ available: 7, held: 0 });
  });

  test("a process that died on its last attempt locks nobody out, its points are back (S06)", async () => {
    await grant(3);
    await running({ ...paid, key: "a", max_attempts: 1 }, 1_000);
    await ageAll(fixture.db, "jobs", 2_000);
    const again = await call("enqueue", "k", "{}", { ...paid, key: "a" });
    expect(again).toMatchObject({ outcome: "created" });
    expect(await credits()).toEqual({ account: "ann", available: 0, held: 3 });
    expect(await kinds()).toEqual(["grant", "hold", "give_back", "hold"]);
  });
});
