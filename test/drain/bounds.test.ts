import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { client, counts, rowOf, until } from "./support/client.ts";
import { interposed, type PassingCall } from "./support/interposed.ts";

const mail = defineJob("mail", { backoff: [0] });
const image = defineJob("image");

describe.each(backends)("a drain on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  test("without options takes three jobs in 240 seconds, claiming none in the last 30", async () => {
    const claims: PassingCall["args"][] = [];
    const watched = interposed(db.database, (call) => {
      if (call.name === "claim") claims.push(call.args);
      return call.go();
    });
    const handled: unknown[] = [];
    const leasehold = client(
      watched,
      handle(mail, (job) => handled.push(job.payload)),
    );
    const jobs = [1, 2, 3, 4].map((payload) => ({ job: mail, payload, key: `k${payload}` }));
    const answers = await leasehold.enqueueMany(jobs);
    const report = await leasehold.drain();
    expect(handled).toEqual([1, 2, 3]);
    expect(report).toEqual({
      reason: "maxJobs",
      jobs: [0, 1, 2].map((nth) => ({
        id: (answers[nth] as { id: string }).id,
        kind: "mail",
        key: `k${nth + 1}`,
        attempt: 1,
        generation: 1,
        outcome: "completed",
        durationMs: expect.any(Number),
      })),
      processed: 3,
      completed: 3,
      failed: 0,
      retried: 0,
      released: 0,
      cancelled: 0,
      lost: 0,
      unrecorded: 0,
      durationMs: expect.any(Number),
    });
    expect(claims).toHaveLength(3);
    for (const claim of claims) {
      expect(claim).toMatchObject({ p_kinds: ["mail"], p_limit: 1 });
      expect(claim.p_worker).toMatch(new RegExp(`^drain-${process.pid}-`));
      // What is left of the budget, and the reserve.
      expect(claim.p_timeout_ms).toBeGreaterThan(260_000);
      expect(claim.p_timeout_ms).toBeLessThanOrEqual(270_000);
    }
    expect(await counts(db)).toEqual({ completed: 3, queued: 1 });
  });

  test("reports nothing where nothing is due", async () => {
    const leasehold = client(
      db.database,
      handle(mail, () => undefined),
    );
    await leasehold.enqueue(mail, 1, { delay: "1h" });
    const report = await leasehold.drain();
    expect(report).toMatchObject({ reason: "empty", jobs: [], processed: 0, completed: 0 });
    expect(report).not.toHaveProperty("error");
  });

  test("goes by priority, then by time, and stops at maxJobs", async () => {
    const handled: unknown[] = [];
    const leasehold = client(
      db.database,
      handle(mail, (job) => handled.push(job.payload)),
      handle(image, (job) => handled.push(job.payload)),
    );
    await leasehold.enqueueMany([
      { job: mail, payload: "third" },
      { job: image, payload: "fourth" },
      { job: mail, payload: "second", priority: -1 },
      { job: image, payload: "first", priority: -2 },
      { job: mail, payload: "last", priority: 1 },
    ]);
    expect(await leasehold.drain({ maxJobs: 4 })).toMatchObject({
      reason: "maxJobs",
      processed: 4,
    });
    expect(handled).toEqual(["first", "second", "third", "fourth"]);
    expect(await leasehold.drain({ maxJobs: 4 })).toMatchObject({ reason: "empty", processed: 1 });
  });

  test("takes only the kinds that it is asked for, of those that have a handler", async () => {
    const leasehold = client(
      db.database,
      handle(mail, () => undefined),
      handle(image, () => undefined),
    );
    const other = defineJob("other");
    await leasehold.enqueueMany([{ job: mail }, { job: image }, { job: other }]);
    const report = await leasehold.drain({ kinds: ["image"], worker: "me" });
    expect(report.jobs).toMatchObject([{ kind: "image" }]);
    expect((await rowOf(db, report.jobs[0]?.id ?? "")).worker).toBe("me");
    expect((await leasehold.drain()).jobs).toMatchObject([{ kind: "mail" }]);
    expect(await counts(db)).toEqual({ completed: 2, queued: 1 });
  });

  test("claims nothing with less than the reserve left, so that no attempt is wasted", async () => {
    const leasehold = client(
      db.database,
      handle(mail, async () => {
        const began = performance.now();
        await until(() => performance.now() - began > 750, "more than 700 ms");
      }),
    );
    await leasehold.enqueueMany([{ job: mail }, { job: mail }]);
    const report = await leasehold.drain({ budget: "60s", reserve: 59_300 });
    expect(report).toMatchObject({ reason: "budget", completed: 1, processed: 1 });
    expect(await counts(db)).toEqual({ completed: 1, queued: 1 });
    const queued = `select attempts, generation from ${db.quotedSchema}.jobs where status = 'queued'`;
    expect(await db.query(queued)).toEqual([{ attempts: 0, generation: 0 }]);
  });

  test("never takes one job twice, though it be due again at once", async () => {
    let runs = 0;
    const leasehold = client(
      db.database,
      handle(mail, () => {
        runs += 1;
        throw new Error("again");
      }),
    );
    await leasehold.enqueue(mail);
    const report = await leasehold.drain({ maxJobs: 100 });
    expect(report).toMatchObject({ reason: "empty", processed: 1, retried: 1 });
    expect(report.jobs).toMatchObject([{ outcome: "retried", code: "ERROR" }]);
    expect(await leasehold.drain({ maxJobs: 100 })).toMatchObject({ processed: 1 });
    expect(runs).toBe(2);
  });

  test("is not held up by a job that always asks for later (S22)", async () => {
    const leasehold = client(
      db.database,
      handle(mail, (job) => job.release({ after: 0, code: "NOT_YET" })),
      handle(image, () => undefined),
    );
    await leasehold.enqueue(mail, {}, { priority: -1 });
    await leasehold.enqueue(image);
    const report = await leasehold.drain({ maxJobs: 100 });
    expect(report).toMatchObject({ reason: "empty", released: 1, completed: 1 });
    expect(report.jobs).toMatchObject([{ outcome: "released", code: "NOT_YET" }, {}]);
    const row = await rowOf(db, report.jobs[0]?.id ?? "");
    expect(row).toMatchObject({ status: "queued", attempts: 0, releases: 1 });
    expect(row.last_error_code).toBe("NOT_YET");
    expect(row.run_after - row.claimed_at).toBeGreaterThanOrEqual(1_000);
  });

  test("has half of a short budget as its reserve", async () => {
    const leasehold = client(
      db.database,
      handle(mail, () => undefined),
    );
    await leasehold.enqueue(mail);
    expect(await leasehold.drain({ budget: "20s" })).toMatchObject({ completed: 1 });
    await expect(leasehold.drain({ budget: "20s", reserve: "20s" })).rejects.toThrow(
      /^reserve is "20s".*less than the budget of 20000 ms/,
    );
  });
});
