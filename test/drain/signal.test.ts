import { setTimeout as timer } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AbortCause, defineJob, handle, type Job, JobAbortedError } from "../../src/index.ts";
import { age } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { aborted, client, eventsOf, rowOf, until } from "./support/client.ts";
import { interposed } from "./support/interposed.ts";

const quick = { lease: 90, backoff: ["1h"] };

/** Ages the job until somebody has taken it: its holder may renew the lease in between. */
function takenOver(db: TestDatabase, id: string, take: () => Promise<boolean>) {
  return until(async () => {
    await age(db, id, 1_000);
    return take();
  }, "the takeover");
}

describe.each(backends)("the signal of a job on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  /** What stages each cause while the handler runs, and what becomes of the job. */
  const staged: {
    because: AbortCause;
    options?: { timeout?: number; budget?: number };
    stage?: (job: Job, controller: AbortController) => unknown;
    outcome: object;
    row: object;
  }[] = [
    {
      because: "lost",
      stage: async ({ id }) => {
        const claim = () => db.database.call("claim", { p_kinds: ["watched"], p_lease_ms: 60_000 });
        await takenOver(db, id, async () => ((await claim()) as unknown[]).length > 0);
      },
      outcome: { outcome: "lost", generation: 1 },
      row: { status: "running", generation: 2, attempts: 2 },
    },
    {
      because: "cancel",
      stage: ({ id }) => db.database.call("cancel", { p_id: id }),
      outcome: { outcome: "cancelled", code: "CANCELLED" },
      row: { status: "cancelled", last_error_code: "CANCELLED" },
    },
    {
      because: "timeout",
      options: { timeout: 200 },
      outcome: { outcome: "retried", code: "TIMEOUT" },
      row: { status: "queued", attempts: 1, last_error_code: "TIMEOUT" },
    },
    {
      because: "budget",
      options: { budget: 600 },
      outcome: { outcome: "released", code: "BUDGET_EXCEEDED" },
      row: { status: "queued", attempts: 0, last_error_code: "BUDGET_EXCEEDED" },
    },
    {
      because: "shutdown",
      stage: (_, controller) => controller.abort(new Error("the caller's own reason")),
      outcome: { outcome: "released", code: "SHUTDOWN" },
      row: { status: "queued", attempts: 0, releases: 1, last_error_code: "SHUTDOWN" },
    },
  ];

  test.each(staged)("aborts for the reason $because, which decides about the job", async (each) => {
    const { because, options = {}, stage, outcome, row } = each;
    const controller = new AbortController();
    let reason: unknown;
    const job = defineJob("watched", { ...quick, timeout: options.timeout ?? "1m" });
    const leasehold = client(
      db.database,
      handle(job, async (own) => {
        await stage?.(own, controller);
        // As fetch does, a timer of Node rejects for the signal.
        const error = await timer(30_000, null, { signal: own.signal }).catch((e: unknown) => e);
        reason = own.signal.reason;
        expect((error as Error).cause).toBe(reason);
        throw error;
      }),
    );
    await leasehold.enqueue(job);
    const { budget = "1m" } = options;
    const report = await leasehold.drain({ budget, reserve: 50, signal: controller.signal });
    expect(reason).toBeInstanceOf(JobAbortedError);
    expect(reason).toMatchObject({ because, name: "AbortError", message: expect.any(String) });
    expect(report.jobs).toMatchObject([outcome]);
    expect(await rowOf(db, report.jobs[0]?.id ?? "")).toMatchObject(row);
  });

  test("of a handler that finishes all the same: its result counts, save when the claim is lost", async () => {
    for (const { because, stage, options = {} } of staged) {
      const job = defineJob("watched", { ...quick, timeout: options.timeout ?? "1m" });
      const controller = new AbortController();
      const leasehold = client(
        db.database,
        handle(job, async (own) => {
          await stage?.(own, controller);
          await aborted(own.signal);
          return because;
        }),
      );
      await leasehold.enqueue(job);
      const { budget = "1m" } = options;
      const { jobs } = await leasehold.drain({ budget, reserve: 50, signal: controller.signal });
      const result = because === "lost" ? null : because;
      const outcome = because === "lost" ? "lost" : "completed";
      expect(jobs, because).toMatchObject([{ outcome }]);
      expect(await rowOf(db, jobs[0]?.id ?? ""), because).toMatchObject({ result });
      await db.reset();
    }
  });
});

describe("the signal", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase("postgres");
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());
  const job = defineJob("watched", quick);

  test("given to drain stops the claiming at once", async () => {
    const controller = new AbortController();
    const leasehold = client(
      db.database,
      handle(job, () => controller.abort()),
    );
    await leasehold.enqueueMany([{ job }, { job }]);
    const report = await leasehold.drain({ signal: controller.signal });
    expect(report).toMatchObject({ reason: "aborted", processed: 1, completed: 1 });
    expect(await leasehold.drain({ signal: controller.signal })).toMatchObject({
      reason: "aborted",
      processed: 0,
    });
  });

  test("that aborts while a claim is under way: the job goes back, its handler never runs", async () => {
    const controller = new AbortController();
    const database = interposed(db.database, async (call) => {
      const answer = await call.go();
      if (call.name === "claim") controller.abort();
      return answer;
    });
    let runs = 0;
    const leasehold = client(
      database,
      handle(job, () => {
        runs += 1;
      }),
    );
    await leasehold.enqueue(job);
    const report = await leasehold.drain({ signal: controller.signal });
    expect(report).toMatchObject({ reason: "aborted", released: 1 });
    expect(runs).toBe(0);
    expect(await rowOf(db, report.jobs[0]?.id ?? "")).toMatchObject({ attempts: 0, releases: 1 });
  });

  test("tells a lost claim within a third of the lease, and the late result leaves a trace (S02)", async () => {
    let told: unknown;
    const leasehold = client(
      db.database,
      handle(job, async ({ id, signal, generation }) => {
        if (generation > 1) return "new";
        const second = client(
          db.database,
          handle(job, () => "new"),
        );
        await takenOver(db, id, async () => (await second.drain()).completed > 0);
        told = await aborted(signal);
        return "old";
      }),
    );
    const answer = await leasehold.enqueue(job);
    const id = "id" in answer ? answer.id : "";
    expect(await leasehold.drain()).toMatchObject({ lost: 1, completed: 0, reason: "empty" });
    expect(told).toMatchObject({ because: "lost" });
    expect(leasehold.toldOf("lost")).toMatchObject([{ id, generation: 1, attempt: 1 }]);
    expect(leasehold.told.map(({ name }) => name)).toEqual(["started", "lost", "drained"]);
    expect(await rowOf(db, id)).toMatchObject({
      status: "completed",
      generation: 2,
      result: "new",
    });
    expect((await eventsOf(db, id)).map(({ event }) => event)).toEqual(["reaped", "refused"]);
  });

  test("for a cancel leaves the handler the time that it had, to undo what it did", async () => {
    let undone = false;
    const leasehold = client(
      db.database,
      handle(job, async ({ id, signal }) => {
        await db.database.call("cancel", { p_id: id });
        await aborted(signal);
        const began = performance.now();
        await until(() => performance.now() - began > 300, "300 ms, far more than the grace");
        undone = true;
        signal.throwIfAborted();
      }),
    );
    await leasehold.enqueue(job);
    const { jobs } = await leasehold.drain({ reserve: 20 });
    expect(undone).toBe(true);
    expect(jobs).toMatchObject([{ outcome: "cancelled" }]);
    const row = await rowOf(db, jobs[0]?.id ?? "");
    expect(row).toMatchObject({ status: "cancelled", last_error_code: "CANCELLED" });
    expect(row.last_error_message).not.toContain("did not stop");
  });

  test("that a handler listens to is aborted once, and only for its own attempt", async () => {
    const reasons: unknown[] = [];
    const own = defineJob("watched", { timeout: 120, backoff: [0] });
    const leasehold = client(
      db.database,
      handle(own, async ({ id, signal }) => {
        signal.addEventListener("abort", () => reasons.push(signal.reason.because));
        if (reasons.length > 0) return;
        await db.database.call("cancel", { p_id: id });
        await timer(30_000, null, { signal });
      }),
    );
    await leasehold.enqueueMany([{ job: own }, { job: own }]);
    expect(await leasehold.drain()).toMatchObject({ retried: 0, cancelled: 1, completed: 1 });
    expect(reasons).toEqual(["timeout"]);
  });
});
