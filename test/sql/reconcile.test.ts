import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, useDatabase } from "./support/calls.ts";

const external = { external: true, max_attempts: 1, key: "a", owner: "ann" };
const broken = { code: "X", message: "x" };

describe.each(backends)("reconcile on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running, job, age, count, events } = fixture;

  /** The look at the ledger for a job, as it stands. */
  async function look() {
    const [row] = await query("select * from leasehold.jobs where kind = 'leasehold.reconcile'");
    return row;
  }

  /** Claims the look, and answers its id and generation. */
  async function looking(): Promise<[string, number]> {
    const [claimed] = await rows("claim", ["leasehold.reconcile"]);
    if (claimed === undefined) throw new Error("There is no look to claim");
    return [claimed.id, claimed.generation];
  }

  /** A job that charged a ledger, maybe, and failed; its attempt can't charge any more. */
  async function failed(): Promise<string> {
    const id = await running(external);
    await call("fail", id, 1, broken, true);
    await query("update leasehold.jobs set timeout_at = clock_timestamp() where id = $1", [id]);
    return id;
  }

  test("a failure makes the money checking, and enqueues one look at the ledger", async () => {
    const id = await running(external);
    expect(await call("fail", id, 1, broken, true)).toBe("failed");
    expect(await call("status", id, "ann")).toMatchObject({
      status: "failed",
      money: "checking",
      notice: "failed_checking",
    });
    expect(await look()).toMatchObject({
      key: `${id}:1`,
      owner: null,
      status: "queued",
      max_attempts: 10,
      payload: { id, run: 1, kind: "k", key: "a", owner: "ann", payload: {} },
    });
    expect(await count()).toBe(2);
  });

  const ends: Record<string, (id: string) => Promise<unknown>> = {
    "a reap": async (id) => {
      await age(id, 3_600_001);
      await call("status", id);
    },
    "a cancelled attempt": async (id) => {
      await call("cancel", id);
      await call("release", id, 1);
    },
    "an enqueue on its key": async (id) => {
      await age(id, 3_600_001);
      await call("enqueue", "k", "{}", external);
    },
  };

  test.each(Object.keys(ends))("so does %s", async (how) => {
    const id = await running(external);
    await ends[how]?.(id);
    expect(await job(id)).toMatchObject({ money: "checking" });
    expect(await look()).toMatchObject({ key: `${id}:1` });
  });

  test("a job that completes, or comes back, is not looked at", async () => {
    const done = await running(external);
    await call("complete", done, 1);
    expect(await call("status", done)).toMatchObject({ money: null, notice: "completed" });
    const back = await running({ external: true });
    await call("fail", back, 1, broken, false, 0);
    expect(await job(back)).toMatchObject({ money: null });
    expect(await look()).toBeUndefined();
  });

  test.each([
    ["refunded", "refunded", "failed_refunded"],
    ["none", "not_charged", "failed_not_charged"],
    ["charged", "charged", "failed_charged"],
  ])("a ledger that says %s makes the money %s", async (ledger, money, notice) => {
    const id = await failed();
    const [looked, generation] = await looking();
    expect(await call("complete", looked, generation, { ledger })).toBe(true);
    expect(await call("status", id)).toMatchObject({ money, notice });
    expect(await job(looked)).toMatchObject({ status: "completed", result: { ledger } });
    const alerts = ledger === "charged" ? [{ severity: "warning", code: "MONEY_CHARGED" }] : [];
    expect((await call("alerts")).alerts).toMatchObject(alerts);
  });

  test("finish_many settles as complete does", async () => {
    const id = await failed();
    const [looked, generation] = await looking();
    const outcome = { id: looked, generation, action: "complete", result: { ledger: "refunded" } };
    expect(await call("finish_many", json([outcome]))).toMatchObject({
      done: [{ id: looked, status: "completed" }],
    });
    expect(await job(id)).toMatchObject({ money: "refunded" });
  });

  test("none is not believed of a look that began while an attempt could charge, however late it ends", async () => {
    const id = await running(external);
    await call("fail", id, 1, broken, true);
    const [looked, generation] = await looking();
    // The timeout passes after the look began and before it is recorded.
    const began = "select claimed_at + interval '1 microsecond' from leasehold.jobs where id = $2";
    const passing = `update leasehold.jobs set timeout_at = (${began}) where id = $1`;
    await query(passing, [id, looked]);
    expect(await call("complete", looked, generation, { ledger: "none" })).toBe(true);
    expect(await job(id)).toMatchObject({ money: "checking" });
    expect(await job(looked)).toMatchObject({ status: "queued", last_error_code: "LEDGER_OPEN" });
    for (const each of [id, looked]) await age(each, 1000);
    const [again, next] = await looking();
    expect(await call("complete", again, next, { ledger: "none" })).toBe(true);
    expect(await job(id)).toMatchObject({ money: "not_charged" });
  });

  test("none is not believed while an attempt may still charge", async () => {
    const id = await running(external);
    await call("fail", id, 1, broken, true);
    const [looked, generation] = await looking();
    expect(await call("complete", looked, generation, { ledger: "none" })).toBe(true);
    expect(await job(id)).toMatchObject({ money: "checking" });
    const waits = await job(looked);
    expect(waits).toMatchObject({ status: "queued", last_error_code: "LEDGER_OPEN", attempts: 0 });
    expect(waits?.run_after >= (await job(id))?.timeout_at).toBe(true);
    expect(await rows("claim", ["leasehold.reconcile"])).toEqual([]);
    // But a charge counts at once.
    await call("run_now", looked);
    const [, again] = await looking();
    expect(await call("complete", looked, again, { ledger: "refunded" })).toBe(true);
    expect(await job(id)).toMatchObject({ money: "refunded" });
  });

  test("an earlier attempt counts too, where a later one ended sooner", async () => {
    const id = await running({ external: true, max_attempts: 2 }, 1_000, 3_600_000);
    await age(id, 2_000);
    await call("reap");
    await rows("claim_job", id, 1_000, "w", 2_000);
    const first = Date.now() + 3_590_000;
    expect(await call("fail", id, 2, broken, true)).toBe("failed");
    expect((await job(id))?.timeout_at.getTime()).toBeGreaterThan(first);
  });

  test("none counts at once for a job that was never claimed", async () => {
    const id = await enqueue(external);
    await call("cancel", id);
    const [looked, generation] = await looking();
    await call("complete", looked, generation, { ledger: "none" });
    expect(await call("status", id)).toMatchObject({ notice: "cancelled_not_charged" });
  });

  test("a look that fails for good leaves it unknown, with a critical alert", async () => {
    const id = await failed();
    const [looked, generation] = await looking();
    const away = { code: "AWAY", message: "the ledger is away" };
    expect(await call("fail", looked, generation, away)).toBe("queued");
    expect(await job(id)).toMatchObject({ money: "checking" });
    expect((await call("alerts")).alerts).toEqual([]);
    await query("update leasehold.jobs set attempts = 9, run_after = now() where id = $1", [
      looked,
    ]);
    const [, last] = await looking();
    expect(await call("fail", looked, last, away)).toBe("failed");
    expect(await call("status", id)).toMatchObject({ money: "unknown", notice: "failed_unknown" });
    expect((await call("alerts")).alerts).toMatchObject([
      {
        severity: "critical",
        code: "MONEY_UNKNOWN",
        job_id: id,
        detail: { reconcile: looked, key: `${id}:1`, owner: "ann", error_code: "AWAY" },
        told_at: null,
      },
    ]);
  });

  test("so does one that is reaped on its last attempt, or cancelled", async () => {
    const reaped = await failed();
    const [looked] = await looking();
    await query("update leasehold.jobs set attempts = 10 where id = $1", [looked]);
    await age(looked, 300_001);
    await call("status", looked);
    expect(await job(reaped)).toMatchObject({ money: "unknown" });
    const id = await running({ external: true, max_attempts: 1 });
    await call("fail", id, 1, broken, true);
    const [other] = await query("select id from leasehold.jobs where key = $1", [`${id}:1`]);
    await call("cancel", other?.id);
    expect(await job(id)).toMatchObject({ money: "unknown" });
    expect((await call("alerts")).alerts).toHaveLength(2);
  });

  test("retrying the look checks again", async () => {
    const id = await failed();
    const [looked, generation] = await looking();
    await call("fail", looked, generation, broken, true);
    expect(await call("retry", looked)).toMatchObject({ outcome: "retried" });
    expect(await job(id)).toMatchObject({ money: "checking" });
    const [, again] = await looking();
    await call("complete", looked, again, { ledger: "refunded" });
    expect(await job(id)).toMatchObject({ money: "refunded" });
  });

  test("a look at an earlier run says nothing of the present one", async () => {
    const id = await failed();
    const [first, generation] = await looking();
    await call("fail", first, generation, broken, true);
    expect(await call("retry", id)).toMatchObject({ outcome: "retried" });
    await call("cancel", id);
    expect(await job(id)).toMatchObject({ money: "checking", run: 2 });
    expect(await call("retry", first)).toMatchObject({ outcome: "retried" });
    const [claimed] = await rows("claim_job", first);
    await call("complete", first, claimed?.generation, { ledger: "charged" });
    expect(await job(id)).toMatchObject({ money: "checking" });
    const [second, next] = await looking();
    await call("complete", second, next, { ledger: "refunded" });
    expect(await job(id)).toMatchObject({ money: "refunded" });
  });

  test("a result that says nothing of the ledger is refused", async () => {
    await failed();
    const [looked, generation] = await looking();
    for (const result of [null, {}, { ledger: "maybe" }]) {
      await expect(call("complete", looked, generation, result)).rejects.toMatchObject({
        code: "LH002",
        message: expect.stringContaining("the result of a reconcile job"),
      });
    }
    expect(await job(looked)).toMatchObject({ status: "running" });
  });

  test("a stale look writes nothing", async () => {
    const id = await failed();
    const [looked, generation] = await looking();
    await age(looked, 60_001);
    const [, second] = await looking();
    expect(await call("complete", looked, generation, { ledger: "none" })).toBe(false);
    expect(await job(id)).toMatchObject({ money: "checking" });
    expect(await call("complete", looked, second, { ledger: "refunded" })).toBe(true);
    expect(await job(id)).toMatchObject({ money: "refunded" });
  });

  test("while the ledger is asked the job is not retried, pruned or removed", async () => {
    const id = await failed();
    expect(await call("retry", id)).toEqual({ outcome: "money_unsettled", id, status: "failed" });
    expect(await call("retry_many", { ids: [id] })).toEqual({
      retried: 0,
      skipped: [{ id, outcome: "money_unsettled" }],
    });
    expect(await call("prune", { older_than_ms: 0 })).toEqual({ deleted: 0 });
    expect(await call("remove", id)).toMatchObject({ outcome: "money_unsettled" });
    const [looked, generation] = await looking();
    await call("complete", looked, generation, { ledger: "refunded" });
    expect(await call("retry", id)).toMatchObject({ outcome: "retried" });
    expect(await job(id)).toMatchObject({ money: null, run: 2, timeout_at: null });
    await call("cancel", id);
    const keys = await query(
      "select key from leasehold.jobs where kind = 'leasehold.reconcile' order by id",
    );
    expect(keys).toEqual([{ key: `${id}:1` }, { key: `${id}:2` }]);
  });

  test("an external holder is replaced by nobody", async () => {
    const id = await enqueue({ external: true, key: "b" });
    for (const on_conflict of ["replace", "rerun"]) {
      expect(await call("enqueue", "k", "{}", { key: "b", on_conflict })).toMatchObject({
        outcome: "conflict",
        holder: { id },
      });
    }
  });

  test("looks are kept for 30 days, then pruned", async () => {
    await failed();
    const [looked, generation] = await looking();
    await call("complete", looked, generation, { ledger: "refunded" });
    expect(await call("prune")).toEqual({ deleted: 0 });
    await age(looked, 30 * 86_400_000 + 1);
    expect(await call("prune")).toEqual({ deleted: 1 });
  });

  test("each alert is handed out to one who tells it, and again when nobody did", async () => {
    const id = await failed();
    const [looked, generation] = await looking();
    await call("fail", looked, generation, broken, true);
    const [alert] = await call("claim_alerts", 10, 60_000);
    expect(alert).toMatchObject({ code: "MONEY_UNKNOWN", job_id: id });
    expect(await call("claim_alerts", 10, 60_000)).toEqual([]);
    await query("update leasehold.alerts set told_until = clock_timestamp()");
    expect(await call("claim_alerts", 10, 60_000)).toMatchObject([{ id: alert.id }]);
    expect(await call("finish_alerts", [alert.id])).toBe(1);
    expect(await call("finish_alerts", [alert.id])).toBe(0);
    await query("update leasehold.alerts set told_until = clock_timestamp()");
    expect(await call("claim_alerts")).toEqual([]);
    expect((await call("alerts")).alerts).toMatchObject([{ told_at: expect.any(String) }]);
  });

  test("ten releases in a row are an alert", async () => {
    const id = await enqueue();
    for (let generation = 1; generation <= 10; generation += 1) {
      await rows("claim_job", id);
      await call("release", id, generation, 0, "LATER");
    }
    expect((await events(id)).at(-1)).toMatchObject({ event: "released_ten_times" });
    expect((await call("alerts")).alerts).toMatchObject([
      { severity: "warning", code: "RELEASED_TEN_TIMES", job_id: id },
    ]);
  });
});
