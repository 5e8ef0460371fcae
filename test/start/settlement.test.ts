import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createLeasehold,
  defineJob,
  handle,
  type LeaseholdAlert,
  PermanentError,
  type SettlementContext,
} from "../../src/index.ts";
import { silentLogger } from "../../src/logger.ts";
import { client, rowOf, until } from "../drain/support/client.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";

/** A ledger elsewhere: charges by idempotency key, each of which may be refunded once. */
class Ledger {
  readonly charges = new Map<string, "charged" | "refunded">();
  refunds = 0;
  readonly lookup = vi.fn((key: string, _: SettlementContext) => this.charges.get(key) ?? "none");

  charge(key: string): void {
    if (!this.charges.has(key)) this.charges.set(key, "charged");
  }

  readonly refund = (key: string): void => {
    if (this.charges.get(key) !== "charged") return;
    this.charges.set(key, "refunded");
    this.refunds += 1;
  };
}

describe.each(backends)("a ledger elsewhere on %s", (backend) => {
  let db: TestDatabase;
  let ledger: Ledger;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(async () => {
    await db.reset();
    ledger = new Ledger();
  });
  afterAll(() => db.close());

  const defined = () =>
    defineJob("pay", {
      key: () => "k",
      settlement: { lookup: ledger.lookup, refund: ledger.refund },
    });
  const money = async (id: string) => (await rowOf(db, id)).money;
  /** No attempt can charge any more, and looks that wait are due. */
  const pass = async () => {
    await db.query(
      `update ${db.quotedSchema}.jobs set timeout_at = clock_timestamp() where kind = 'pay' and status <> 'running'`,
    );
    await db.query(
      `update ${db.quotedSchema}.jobs set run_after = clock_timestamp() where status = 'queued'`,
    );
  };

  async function failing(charges: boolean) {
    const pay = defined();
    const leasehold = client(
      db.database,
      handle(pay, async (job) => {
        const key = await job.idempotencyKey();
        expect(key).toBe(`${job.id}:1`);
        if (charges) ledger.charge(key);
        throw new PermanentError("after the charge");
      }),
    );
    const started = await leasehold.start(pay, {});
    if (started.outcome !== "created") throw new Error(started.outcome);
    const { id } = started;
    await until(async () => (await rowOf(db, id)).finished_at, "the end of the job");
    return { id, leasehold };
  }

  test("a poller finds the charge, refunds it once, and says so", async () => {
    const { id, leasehold } = await failing(true);
    const first = await leasehold.status(id);
    expect(first).toMatchObject({ status: "failed" });
    await until(async () => (await leasehold.status(id))?.money === "refunded", "the refund");
    expect(await leasehold.status(id)).toMatchObject({ notice: "failed_refunded" });
    expect(ledger.refunds).toBe(1);
    expect(ledger.lookup).toHaveBeenCalledTimes(1);
    expect(ledger.lookup.mock.calls[0]?.[1]).toMatchObject({ id, run: 1, kind: "pay", key: "k" });
    await leasehold.close();
  });

  test("none is said only when nobody can charge any more", async () => {
    const { id, leasehold } = await failing(false);
    await leasehold.drain({ kinds: ["leasehold.reconcile"] });
    expect(await leasehold.status(id)).toMatchObject({ notice: "failed_checking" });
    ledger.charge(`${id}:1`); // a stale worker, late
    await pass();
    // The look that the status began in passing, or the next one.
    await until(async () => (await leasehold.status(id))?.money === "refunded", "the refund");
    expect(await leasehold.status(id)).toMatchObject({ notice: "failed_refunded" });
    expect(ledger.refunds).toBe(1);
    await leasehold.close();
  });

  test("a ledger that knows nothing then means that nothing was charged", async () => {
    const { id, leasehold } = await failing(false);
    await pass();
    await leasehold.drain({ kinds: ["leasehold.reconcile"] });
    expect(await leasehold.status(id)).toMatchObject({ notice: "failed_not_charged" });
    await leasehold.close();
  });

  test("a ledger that can't be read leaves it unknown, and the hook is told until it has heard", async () => {
    const { id, leasehold } = await failing(true);
    ledger.lookup.mockImplementation(() => {
      throw Object.assign(new Error("not found"), { status: 404 });
    });
    for (let n = 0; n < 10; n += 1) {
      expect(await money(id)).toBe("checking");
      await pass();
      await leasehold.drain({ kinds: ["leasehold.reconcile"], maxJobs: 1 });
    }
    expect(await leasehold.status(id)).toMatchObject({
      money: "unknown",
      notice: "failed_unknown",
    });
    await leasehold.close();

    const told: LeaseholdAlert[] = [];
    const onAlert = vi.fn((alert: LeaseholdAlert) => {
      if (onAlert.mock.calls.length === 1) throw new Error("the pager is away");
      told.push(alert);
    });
    const operator = createLeasehold({
      database: db.database,
      handlers: [handle(defined(), () => 1)],
      logger: silentLogger,
      onAlert,
    });
    await operator.drain();
    expect(told).toEqual([]);
    await db.query(`update ${db.quotedSchema}.alerts set told_until = clock_timestamp()`);
    await operator.drain();
    expect(told).toMatchObject([{ severity: "critical", code: "MONEY_UNKNOWN", jobId: id }]);
    await operator.drain();
    expect(onAlert).toHaveBeenCalledTimes(2);
    expect(await operator.alerts()).toMatchObject({ alerts: [{ toldAt: expect.any(String) }] });
    await operator.close();
  });

  test("a client that knows no such settlement leaves the look to one that does", async () => {
    const { id, leasehold } = await failing(true);
    const other = defineJob("other", { settlement: { lookup: () => "none" } });
    const stranger = client(
      db.database,
      handle(other, () => 1),
    );
    expect(await stranger.drain()).toMatchObject({ released: 1 });
    expect(await money(id)).toBe("checking");
    await pass();
    await leasehold.drain();
    expect(await money(id)).toBe("refunded");
    await leasehold.close();
  });

  test("without a refund the charge stays, and somebody is told", async () => {
    const pay = defineJob("pay", { settlement: { lookup: () => "charged" } });
    const leasehold = client(
      db.database,
      handle(pay, () => {
        throw new PermanentError("no");
      }),
    );
    const { id } = (await leasehold.enqueue(pay)) as { id: string };
    await leasehold.drain();
    expect(await leasehold.status(id)).toMatchObject({ notice: "failed_charged" });
    expect((await leasehold.alerts()).alerts).toMatchObject([{ code: "MONEY_CHARGED" }]);
    await leasehold.close();
  });
});

describe.each(backends)("credits from TypeScript on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  const assess = defineJob("assess", { cost: 2 });

  test("a cost is the owner's, held, captured, and refunded", async () => {
    const leasehold = client(
      db.database,
      handle(assess, () => "ok"),
    );
    expect(await leasehold.grantCredits("ann", 3, "first")).toEqual({
      outcome: "granted",
      available: 3,
    });
    const answer = await leasehold.enqueue(assess, {}, { owner: "ann" });
    if (answer.outcome !== "created") throw new Error(answer.outcome);
    expect(await leasehold.credits("ann")).toEqual({ account: "ann", available: 1, held: 2 });
    expect(await leasehold.enqueue(assess, {}, { owner: "ann" })).toEqual({
      outcome: "insufficient",
    });
    await leasehold.drain();
    expect(await leasehold.status(answer.id)).toMatchObject({ money: "captured" });
    expect(await leasehold.refund(answer.id, 2, "sorry")).toMatchObject({ outcome: "refunded" });
    const { entries, next } = await leasehold.entries("ann", { limit: 2 });
    expect(entries).toMatchObject([
      { kind: "refund", availableDelta: 2, heldDelta: 0, jobId: answer.id, reference: "sorry" },
      { kind: "capture" },
    ]);
    expect(await leasehold.entries("ann", { before: next ?? 0 })).toMatchObject({
      entries: [{ kind: "hold" }, { kind: "grant" }],
      next: null,
    });
    expect(await leasehold.verifyCredits()).toEqual({ ok: true, violations: [] });
    await leasehold.close();
  });

  test("cost and account may follow from the payload, and an enqueue may say otherwise", async () => {
    const priced = defineJob("priced", {
      cost: (payload: unknown) => (payload as { pages: number }).pages,
      account: () => "team",
    });
    const leasehold = createLeasehold({ database: db.database });
    await leasehold.grantCredits("team", 10, "first");
    await leasehold.enqueue(priced, { pages: 3 });
    await leasehold.enqueue(priced, { pages: 3 }, { cost: 1 });
    await leasehold.enqueue(priced, { pages: 3 }, { cost: 0 });
    expect(await leasehold.credits("team")).toMatchObject({ available: 6, held: 4 });
  });

  test("bad amounts and accounts are refused by name, before the database", async () => {
    const leasehold = createLeasehold({ database: db.database });
    const bad = { code: "LH002" };
    for (const amount of [0, -1, 1.5, Number.NaN, 2 ** 53, "5"]) {
      await expect(leasehold.grantCredits("ann", amount as number, "r")).rejects.toMatchObject(bad);
    }
    await expect(leasehold.enqueue(assess)).rejects.toMatchObject({
      ...bad,
      message: expect.stringMatching(/^account is undefined/),
    });
    await expect(leasehold.enqueue(assess, {}, { owner: "a", cost: -1 })).rejects.toThrow(/cost/);
    expect(() => defineJob("x", { cost: -1 })).toThrow(/cost is -1/);
    expect(() => defineJob("x", { cost: 1, settlement: { lookup: () => "none" } })).toThrow();
    expect(await leasehold.refund("no id", 1, "r")).toEqual({
      outcome: "refused",
      available: null,
    });
  });
});
