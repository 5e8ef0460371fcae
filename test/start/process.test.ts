import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLeasehold, defineJob, handle, type Leasehold } from "../../src/index.ts";
import { silentLogger } from "../../src/logger.ts";
import { rowOf, until } from "../drain/support/client.ts";
import { startChild } from "../drain/support/parent.ts";
import { age } from "../support/ageing.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { Ledger, type Point, payment } from "./support/ledger.ts";

const file = new URL("support/child.ts", import.meta.url);

let db: TestDatabase;
let leasehold: Leasehold;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
  // Without housekeeping: a reap of its own, under way, would have the job that a poll is to reap.
  const settings = { housekeeping: false, logger: silentLogger };
  leasehold = createLeasehold({ database: db.database, ...settings });
});
beforeEach(async () => {
  await db.reset();
  await leasehold.grantCredits("ann", 1, "first");
});
afterAll(() => db.close());

const kinds = async () =>
  (await leasehold.entries("ann")).entries.map(({ kind }) => kind).reverse();

async function started(argument: string) {
  const child = startChild("start", db.url, argument, file);
  const { id } = await child.told("started");
  await child.told("running");
  return { child, id: id as string };
}

describe("a process that started a paid job", () => {
  test("killed in its middle: the poller reaps, the credit is back once, and the truth is told", async () => {
    const { child, id } = await started("waits");
    child.process.kill("SIGKILL");
    await child.ended;
    expect(await leasehold.status(id)).toMatchObject({ status: "running", notice: "running" });
    await age(db, id, 2_001);
    const polls = await Promise.all(Array.from({ length: 20 }, () => leasehold.status(id)));
    // While one of them reaps, the others see the job as it is committed: they wait for nobody.
    for (const poll of polls) expect(["running", "failed_given_back"]).toContain(poll?.notice);
    expect(await leasehold.status(id)).toMatchObject({
      status: "failed",
      errorCode: "LEASE_EXPIRED",
      notice: "failed_given_back",
    });
    expect(await leasehold.credits("ann")).toMatchObject({ available: 1, held: 0 });
    expect(await kinds()).toEqual(["grant", "hold", "give_back"]);
    expect(await leasehold.verifyCredits()).toMatchObject({ ok: true });
  });

  test("told to end by SIGTERM: the job fails at once, its credit is back, the process ends (S29)", async () => {
    const { child, id } = await started("serves");
    child.process.kill("SIGTERM");
    expect(await child.ended).toMatchObject({ signal: "SIGTERM" });
    expect(await rowOf(db, id)).toMatchObject({ status: "failed", last_error_code: "SHUTDOWN" });
    expect(await kinds()).toEqual(["grant", "hold", "give_back"]);
  });

  test("a handler that ends in its grace has worked, and is paid", async () => {
    const { child, id } = await started("finishes");
    child.process.kill("SIGTERM");
    await child.ended;
    expect(await rowOf(db, id)).toMatchObject({ status: "completed", result: "just in time" });
    expect(await kinds()).toEqual(["grant", "hold", "capture"]);
  });

  test("a handler that hears nothing does not keep the process", async () => {
    const { child, id } = await started("hangs");
    child.process.kill("SIGTERM");
    await child.ended;
    expect(await rowOf(db, id)).toMatchObject({ status: "failed", money: "given_back" });
  });

  test("a handler that hangs while the process lives fails with TIMEOUT, its credit is back (S32)", async () => {
    const hangs = defineJob("hangs", { cost: 1, timeout: "1s" });
    const own = createLeasehold({
      database: db.database,
      handlers: [handle(hangs, () => new Promise(() => undefined))],
      logger: silentLogger,
    });
    const answer = await own.start(hangs, {}, { owner: "ann" });
    if (answer.outcome !== "created") throw new Error(answer.outcome);
    const state = await until(async () => {
      const now = await own.status(answer.id);
      return now?.status === "failed" ? now : undefined;
    }, "the timeout");
    expect(state).toMatchObject({ errorCode: "TIMEOUT", notice: "failed_given_back" });
    expect(await kinds()).toEqual(["grant", "hold", "give_back"]);
    await own.close();
  });

  test("a job that nobody comes to start fails by its start_by, inside the poll", async () => {
    const assess = defineJob("assess", { cost: 1, lease: "30s" });
    const own = createLeasehold({
      database: db.database,
      housekeeping: false,
      handlers: [handle(assess, () => 1)],
      logger: silentLogger,
      keepAlive: () => undefined, // the process dies before it begins
    });
    const answer = await own.start(assess, {}, { owner: "ann" });
    if (answer.outcome !== "created") throw new Error(answer.outcome);
    expect(await own.status(answer.id)).toMatchObject({ status: "queued" });
    await age(db, answer.id, 30_001);
    expect(await own.status(answer.id)).toMatchObject({
      status: "failed",
      errorCode: "NOT_STARTED",
      notice: "failed_given_back",
    });
  });
});

describe("a process that charges a ledger elsewhere", () => {
  let ledger: Ledger;
  let own: Leasehold;
  beforeAll(async () => {
    ledger = new Ledger(db.url);
    await ledger.create();
    own = createLeasehold({
      database: db.database,
      handlers: [handle(payment(ledger), () => 1)],
      logger: silentLogger,
    });
  });
  afterAll(async () => {
    await own.close();
    await ledger.close();
  });

  /** Time passes for everything: leases, timeouts, waits. */
  async function pass(ms: number): Promise<void> {
    const rows = await db.query(
      "select id from leasehold.jobs where finished_at is null or money = 'checking'",
    );
    for (const { id } of rows) await age(db, id, ms);
  }

  /** What a page shows must be true at that very moment, and stay so. */
  async function poll(id: string): Promise<string> {
    const state = await own.status(id);
    const truth = await ledger.lookup(`${id}:1`);
    const notice = state?.notice ?? "";
    if (notice.endsWith("not_charged")) expect(truth).toBe("none");
    if (notice.endsWith("refunded")) expect(truth).toBe("refunded");
    expect(notice).not.toBe("failed");
    return notice;
  }

  async function settled(id: string): Promise<string> {
    return until(async () => {
      const notice = await poll(id);
      if (/(not_charged|refunded|unknown)$/.test(notice)) return notice;
      await pass(60_000);
      return undefined;
    }, "the truth about the money").then(String);
  }

  const story: [Point, string][] = [
    ["before charge", "failed_not_charged"],
    ["after charge", "failed_refunded"],
    ["before lookup", "failed_refunded"],
    ["after lookup", "failed_refunded"],
    ["after refund", "failed_refunded"],
  ];

  test.each(story)("killed %s: later polls end in the right state", async (point, notice) => {
    const child = startChild("pay", db.url, point, file);
    const { id } = await child.told("started");
    expect(await child.told("dies")).toBe(point);
    await child.ended;
    expect(await settled(id)).toBe(notice);
    const refunds = notice === "failed_refunded" ? 1 : 0;
    expect(await ledger.refunds(`${id}:1`)).toBe(refunds);
    await pass(3_600_000);
    expect(await poll(id)).toBe(notice);
  });

  test("a stale worker that charges late is found, and the charge refunded once", async () => {
    const child = startChild("late", db.url, "", file);
    const { id } = await child.told("started");
    await child.told("about");
    // It lives, and may renew its lease just before the poll.
    await until(async () => {
      await age(db, id, 2_001);
      return (await poll(id)) === "failed_checking";
    }, "reaped");
    await until(async () => {
      expect(await poll(id)).toBe("failed_checking");
      const [look] = await db.query("select last_error_code from leasehold.jobs where key = $1", [
        `${id}:1`,
      ]);
      return look?.last_error_code === "LEDGER_OPEN";
    }, "a look that does not believe the ledger yet");
    expect(await poll(id)).toBe("failed_checking");
    child.process.send("charge");
    await child.told("charged");
    await child.told("lost");
    child.process.kill("SIGKILL");
    await pass(3_600_000);
    expect(await settled(id)).toBe("failed_refunded");
    expect(await ledger.refunds(`${id}:1`)).toBe(1);
  });
});
