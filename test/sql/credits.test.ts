import { afterEach, describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import { backends } from "../support/databases.ts";
import { json, useDatabase } from "./support/calls.ts";

const most = 9_007_199_254_740_991;
const stranger = "0198a0b4-0000-7000-8000-000000000000";

describe.each(backends)("credits on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, query, value, enqueue, running, job, age, count, session } = fixture;

  // Whatever a test does, the books balance afterwards.
  afterEach(async () => {
    if ((await value("select count(*) from leasehold.accounts where account = 'torn'")) > 0) return;
    expect(await call("verify_credits")).toEqual({ ok: true, violations: [] });
  });

  const grant = (amount = 10, account = "ann") =>
    call("grant_credits", account, amount, `first ${amount}`);
  const credits = (account = "ann") => call("credits", account);
  const paid = { cost: 3, account: "ann" };
  const kinds = async (): Promise<string[]> =>
    (await query("select kind from leasehold.entries order by id")).map(({ kind }) => kind);
  const money = async (id: string) => (await job(id))?.money;

  test("a grant adds to an account, and makes it where it is new", async () => {
    expect(await credits()).toEqual({ account: "ann", available: 0, held: 0 });
    expect(await grant()).toEqual({ outcome: "granted", available: 10 });
    expect(await call("grant_credits", "ann", 5, "second")).toEqual({
      outcome: "granted",
      available: 15,
    });
    expect(await credits()).toEqual({ account: "ann", available: 15, held: 0 });
  });

  test("a grant counts once under its reference, and never for another amount", async () => {
    await grant();
    expect(await grant()).toEqual({ outcome: "duplicate", available: 10 });
    await expect(call("grant_credits", "ann", 11, "first 10")).rejects.toMatchObject({
      code: "LH002",
      message: expect.stringContaining("p_amount is 11 under the reference 'first 10'"),
    });
    expect(await call("grant_credits", "bob", 11, "first 10")).toMatchObject({
      outcome: "granted",
    });
    expect(await count("entries")).toBe(2);
  });

  test("an account never passes 2^53 - 1, what it holds counted", async () => {
    await grant(most);
    expect(await call("grant_credits", "ann", 1, "more")).toEqual({
      outcome: "refused",
      available: most,
    });
    const id = await enqueue({ cost: 1, account: "ann" });
    expect(await call("grant_credits", "ann", 1, "more")).toMatchObject({ outcome: "refused" });
    await call("cancel", id);
    expect(await credits()).toEqual({ account: "ann", available: most, held: 0 });
  });

  test.each([
    ["p_amount", ["ann", 0, "r"]],
    ["p_amount", ["ann", -1, "r"]],
    ["p_amount", ["ann", most + 1, "r"]],
    ["p_amount", ["ann", null, "r"]],
    ["p_account", ["", 1, "r"]],
    ["p_account", [null, 1, "r"]],
    ["p_reference", ["ann", 1, " "]],
    ["p_reference", ["ann", 1, "x".repeat(501)]],
  ])("a grant refuses a bad %s: %j", async (name, values) => {
    await expect(call("grant_credits", ...values)).rejects.toMatchObject({
      code: "LH002",
      message: expect.stringMatching(new RegExp(`^${name} is `)),
    });
    expect(await count("entries")).toBe(0);
  });

  test.each([
    ["cost", { cost: -1, account: "ann" }],
    ["cost", { cost: 1.5, account: "ann" }],
    ["cost", { cost: "1", account: "ann" }],
    ["cost", { cost: most + 1, account: "ann" }],
    ["account", { cost: 1 }],
    ["account", { cost: 1, account: "" }],
    ["external", { cost: 1, account: "ann", external: true }],
    ["external", { external: "yes" }],
    ["on_conflict", { ...paid, key: "a", on_conflict: "replace" }],
    ["on_conflict", { ...paid, key: "a", on_conflict: "rerun" }],
    ["on_conflict", { external: true, key: "a", on_conflict: "rerun" }],
  ])("enqueue refuses a bad %s: %j", async (name, options) => {
    await grant();
    const refused = { code: "LH002", message: expect.stringMatching(new RegExp(`${name} is `)) };
    await expect(call("enqueue", "k", "{}", options)).rejects.toMatchObject(refused);
    const jobs = json([{ kind: "k" }, { kind: "k", ...options }]);
    await expect(call("enqueue_many", jobs)).rejects.toMatchObject({
      code: "LH002",
      message: expect.stringMatching(new RegExp(`^p_jobs\\[1\\]: ${name} is `)),
    });
    expect(await count()).toBe(0);
    expect(await credits()).toMatchObject({ available: 10 });
  });

  test("an enqueue holds what the job costs", async () => {
    await grant();
    const id = await enqueue(paid);
    expect(await job(id)).toMatchObject({ money: "held", cost: 3, account: "ann" });
    expect(await credits()).toEqual({ account: "ann", available: 7, held: 3 });
    expect(await kinds()).toEqual(["grant", "hold"]);
    expect(await call("status", id)).toMatchObject({ money: "held", notice: "queued" });
  });

  test("a job that costs nothing holds nothing", async () => {
    const id = await enqueue({ cost: 0, account: "ann" });
    expect(await job(id)).toMatchObject({ money: null, cost: null, account: "ann" });
    expect(await count("holds")).toBe(0);
  });

  test("too little available is insufficient, and nothing is written", async () => {
    await grant(2);
    const none = { outcome: "insufficient", id: null, status: null };
    expect(await call("enqueue", "k", "{}", { ...paid, key: "a", once: "o" })).toEqual(none);
    expect(await call("enqueue", "k", "{}", { cost: 1, account: "nobody" })).toEqual(none);
    expect(await count()).toBe(0);
    expect(await count("once")).toBe(0);
    expect(await kinds()).toEqual(["grant"]);
    await call("grant_credits", "ann", 1, "more");
    const answer = await call("enqueue", "k", "{}", { ...paid, key: "a", once: "o" });
    expect(answer).toMatchObject({ outcome: "created" });
  });

  test("a busy key is decided before the money", async () => {
    await grant(3);
    const id = await enqueue({ ...paid, key: "a" });
    expect(await call("enqueue", "k", "{}", { ...paid, key: "a" })).toMatchObject({
      outcome: "conflict",
      holder: { id, status: "queued" },
    });
  });

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

  test("a refund never passes the capture, and counts once under its reference", async () => {
    await grant();
    const id = await running(paid);
    expect(await call("refund", id, 1, "early")).toEqual({ outcome: "refused", available: 7 });
    await call("complete", id, 1);
    expect(await call("refund", id, 2, "a")).toEqual({ outcome: "refunded", available: 9 });
    expect(await call("refund", id, 2, "a")).toEqual({ outcome: "duplicate", available: 9 });
    await expect(call("refund", id, 1, "a")).rejects.toMatchObject({ code: "LH002" });
    expect(await money(id)).toBe("captured");
    expect(await call("refund", id, 2, "b")).toEqual({ outcome: "refused", available: 9 });
    expect(await call("refund", id, 1, "b")).toEqual({ outcome: "refunded", available: 10 });
    expect(await call("status", id)).toMatchObject({ notice: "completed_refunded" });
    expect(await kinds()).toEqual(["grant", "hold", "capture", "refund", "refund"]);
  });

  test("a refund works after prune, and is refused for a job that cost nothing", async () => {
    await grant();
    const id = await running(paid);
    await call("complete", id, 1);
    expect(await call("prune", { older_than_ms: 0 })).toEqual({ deleted: 1 });
    expect(await call("refund", id, 3, "late")).toEqual({ outcome: "refunded", available: 10 });
    expect(await call("refund", stranger, 1, "r")).toEqual({ outcome: "refused", available: null });
  });

  test("an enqueue that rolls back leaves the account as it was", async () => {
    await grant();
    await session(async (own) => {
      await own.query("begin");
      await own.enqueue(paid);
      expect(await own.call("credits", "ann")).toMatchObject({ available: 7, held: 3 });
      await own.query("rollback");
    });
    expect(await credits()).toMatchObject({ available: 10, held: 0 });
    expect(await count()).toBe(0);
  });

  test("entries tell an account's history, newest first, in pages", async () => {
    await grant();
    const id = await running(paid);
    await call("complete", id, 1);
    const first = await call("entries", "ann", 2);
    expect(first.entries).toMatchObject([
      { kind: "capture", available_delta: 0, held_delta: -3, job_id: id, reference: null },
      { kind: "hold", available_delta: -3, held_delta: 3, job_id: id },
    ]);
    expect(await call("entries", "ann", 2, first.next)).toMatchObject({
      entries: [{ kind: "grant", available_delta: 10, held_delta: 0, reference: "first 10" }],
      next: null,
    });
    expect(await call("entries", "bob")).toEqual({ entries: [], next: null });
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

  describe("enqueue_many", () => {
    const many = async (...jobs: object[]): Promise<string[]> => {
      const answers = await call(
        "enqueue_many",
        json(jobs.map((each) => ({ kind: "k", ...each }))),
      );
      return answers.map(({ outcome }: { outcome: string }) => outcome);
    };

    test("decides in the order of the input, and a cheaper one behind may still be paid", async () => {
      await grant(5);
      const costs = [2, 4, 3, 1, 0].map((cost) => ({ cost, account: "ann" }));
      expect(await many(...costs)).toEqual([
        "created",
        "insufficient",
        "created",
        "insufficient",
        "created",
      ]);
      expect(await credits()).toEqual({ account: "ann", available: 0, held: 5 });
      expect(await count()).toBe(3);
    });

    test("spreads over accounts, keys and names, and a conflict costs nothing", async () => {
      await grant(3);
      await grant(3, "bob");
      expect(
        await many(
          { cost: 3, account: "bob", key: "z" },
          { cost: 3, account: "ann", key: "a" },
          { cost: 3, account: "bob", key: "a" },
          { cost: 1, account: "ann", once: "o" },
          { cost: 1, account: "nobody" },
        ),
      ).toEqual(["created", "created", "conflict", "insufficient", "insufficient"]);
      expect(await credits()).toMatchObject({ available: 0, held: 3 });
      expect(await credits("bob")).toMatchObject({ available: 0, held: 3 });
      expect(await count("once")).toBe(0);
    });

    test("a job that can't pay does not keep its key from the next one", async () => {
      await grant(1);
      const a = (cost: number, more = {}) => ({ cost, account: "ann", key: "a", ...more });
      expect(await many(a(3), a(2), a(1), a(1))).toEqual([
        "insufficient",
        "insufficient",
        "created",
        "conflict",
      ]);
      expect(await credits()).toMatchObject({ available: 0, held: 1 });
      expect(await count()).toBe(1);
    });

    test("nor its name, also where the other one has another key", async () => {
      await grant(1);
      const named = (cost: number, key: string) => ({ cost, account: "ann", once: "o", key });
      // The key "a" comes first, whatever the order of the input.
      expect(await many(named(1, "b"), named(3, "a"))).toEqual(["created", "insufficient"]);
      expect(await credits()).toMatchObject({ available: 0, held: 1 });
      expect(await value("select key from leasehold.jobs")).toBe("b");
    });

    test("gives back what an orphan held before it holds", async () => {
      await grant(3);
      const orphan = await running({ ...paid, key: "a", max_attempts: 1 });
      await age(orphan, 60_001);
      expect(await many({ cost: 3, account: "ann", key: "a" })).toEqual(["created"]);
      expect(await job(orphan)).toMatchObject({ status: "failed", money: "given_back" });
      expect(await credits()).toMatchObject({ available: 0, held: 3 });
    });
  });

  test("verify_credits finds what does not balance", async () => {
    await call("grant_credits", "torn", 5, "r");
    const id = await running({ cost: 2, account: "torn" });
    await query("update leasehold.accounts set available = 4 where account = 'torn'");
    await query("update leasehold.holds set amount = 1 where job_id = $1", [id]);
    const { ok, violations } = await call("verify_credits");
    expect(ok).toBe(false);
    const found = violations.map(({ rule, account }: Record<string, string>) => [rule, account]);
    expect(found.sort()).toEqual([
      ["available", "torn"],
      ["held", "torn"],
      ["hold_entries", "torn"],
      ["job_money", "torn"],
    ]);
  });
});
