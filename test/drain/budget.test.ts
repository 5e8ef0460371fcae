import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineJob, type Handled, handle } from "../../src/index.ts";
import { ageAll } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { aborted, client, deferred, rowOf } from "./support/client.ts";

const slow = defineJob("slow");
const short = { budget: 700, reserve: 100 };

/** Enqueues the handled job and drains it; the report's only job, its row, and how long it took. */
async function drained(db: TestDatabase, handled: Handled, options: object = short) {
  const leasehold = client(db.database, handled);
  await leasehold.enqueue(handled.definition);
  const began = performance.now();
  const report = await leasehold.drain(options);
  const tookMs = performance.now() - began;
  expect(report.jobs).toHaveLength(1);
  const [job] = report.jobs;
  return { leasehold, report, job, tookMs, row: await rowOf(db, job?.id ?? "") };
}

const released = { status: "queued", attempts: 0, releases: 1, budget_releases: 1 };

describe.each(backends)("at the end of its budget a drain on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  test("gives the job back whose handler stops at the signal, the attempt not counted", async () => {
    const { job, row, tookMs, report } = await drained(
      db,
      handle(slow, async ({ signal }) => {
        await aborted(signal);
        signal.throwIfAborted();
      }),
    );
    expect(report).toMatchObject({ reason: "budget", released: 1 });
    expect(job).toMatchObject({ outcome: "released", code: "BUDGET_EXCEEDED", attempt: 1 });
    expect(row).toMatchObject({ ...released, last_error_code: "BUDGET_EXCEEDED" });
    expect(row.run_after.getTime()).toBeLessThanOrEqual(Date.now());
    expect(tookMs).toBeLessThan(short.budget + 1_000);
  });

  test("goes home without a handler that ignores the signal, and gives its job back", async () => {
    const { job, row, tookMs } = await drained(
      db,
      handle(slow, () => new Promise(() => undefined)),
    );
    expect(job).toMatchObject({ outcome: "released", code: "BUDGET_EXCEEDED" });
    expect(row).toMatchObject(released);
    expect(tookMs).toBeLessThan(short.budget + 1_000);
  });

  test("takes a result that still comes after the signal: the work is done", async () => {
    const { row } = await drained(
      db,
      handle(slow, async ({ signal }) => {
        await aborted(signal);
        return "late, but done";
      }),
    );
    expect(row).toMatchObject({ status: "completed", result: "late, but done" });
  });
});

describe("at the end of its budget a drain", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase("postgres");
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  test("fails the attempt at the fifth time in a row, and begins to count anew", async () => {
    const leasehold = client(
      db.database,
      handle(slow, async ({ signal }) => {
        await aborted(signal);
        signal.throwIfAborted();
      }),
    );
    const answer = await leasehold.enqueue(slow);
    const id = "id" in answer ? answer.id : "";
    const tiny = { budget: 200, reserve: 0 };
    for (const budgetReleases of [1, 2, 3, 4]) {
      expect(await leasehold.drain(tiny)).toMatchObject({ released: 1 });
      expect(await rowOf(db, id)).toMatchObject({ attempts: 0, budget_releases: budgetReleases });
    }
    expect(await leasehold.drain(tiny)).toMatchObject({ retried: 1 });
    expect(await rowOf(db, id)).toMatchObject({
      status: "queued",
      attempts: 1,
      budget_releases: 0,
      last_error_code: "BUDGET_EXCEEDED",
      last_error_message: expect.stringContaining("five times in a row"),
    });
    await ageAll(db, "jobs", 120_000);
    expect(await leasehold.drain(tiny)).toMatchObject({ released: 1 });
    expect(await rowOf(db, id)).toMatchObject({ attempts: 1, budget_releases: 1 });
  });

  test("lets a PermanentError that comes after the signal stand, but no other", async () => {
    const permanent = await drained(
      db,
      handle(slow, async ({ signal }) => {
        await aborted(signal);
        throw Object.assign(new Error("gone"), { status: 404 });
      }),
    );
    expect(permanent.row).toMatchObject({ status: "failed", last_error_code: "HTTP_404" });
    const other = await drained(
      db,
      handle(slow, async ({ signal }) => {
        await aborted(signal);
        throw new TypeError("the stream was closed");
      }),
    );
    expect(other.row).toMatchObject({ ...released, last_error_code: "BUDGET_EXCEEDED" });
  });

  test("is not held up by a handler that was cancelled and never ends", async () => {
    const { job, row, tookMs } = await drained(
      db,
      handle(defineJob("slow", { lease: 90 }), async ({ id, signal }) => {
        await db.database.call("cancel", { p_id: id });
        await aborted(signal);
        await new Promise(() => undefined);
      }),
    );
    expect(job).toMatchObject({ outcome: "cancelled" });
    expect(row).toMatchObject({ status: "cancelled" });
    expect(tookMs).toBeLessThan(short.budget + 1_000);
  });

  test("is not held up by a schema that never answers", async () => {
    const never = z.unknown().refine(() => new Promise<boolean>(() => undefined));
    const job = defineJob("slow", { payload: never });
    const leasehold = client(
      db.database,
      handle(job, () => undefined),
    );
    await db.database.call("enqueue", { p_kind: "slow" });
    const began = performance.now();
    expect(await leasehold.drain(short)).toMatchObject({ released: 1 });
    expect(performance.now() - began).toBeLessThan(short.budget + 1_000);
  });

  test("is not held up by a transaction that the handler keeps open", async () => {
    const open = deferred();
    const late = deferred<boolean>();
    const { job, row, tookMs, leasehold } = await drained(
      db,
      handle(slow, async (own) => {
        const failed = own.transaction(async () => {
          await open.promise;
          throw new Error("rolled back at last");
        });
        await failed.catch(() => undefined);
        late.resolve(await own.extend());
      }),
    );
    // Its transaction holds the job's row, so nothing can be recorded: the lease brings it back.
    expect(job).toMatchObject({ outcome: "unrecorded", code: "JOB_BUSY" });
    expect(row).toMatchObject({ status: "running", generation: 1 });
    expect(tookMs).toBeLessThan(short.budget + 1_500);
    expect(leasehold.toldOf("error")).toMatchObject([{ during: "record", id: job?.id }]);
    // Nor does the handler that was given up hold it any longer, though its claim still stands.
    open.resolve();
    expect(await late.promise).toBe(false);
    expect((await rowOf(db, row.id)).lease_until).toEqual(row.lease_until);
    await ageAll(db, "jobs", 301_000);
    const next = client(
      db.database,
      handle(slow, () => "second"),
    );
    expect(await next.drain()).toMatchObject({ completed: 1 });
  });

  test("drops what a handler does after it was given up (S02)", async () => {
    const go = deferred();
    const late = deferred<unknown[]>();
    const { row, job } = await drained(
      db,
      handle(slow, async (own) => {
        await go.promise;
        const refused = await own.transaction(() => "old").catch((error: unknown) => error);
        late.resolve([await own.extend(), await own.progress({ at: 99 }), refused]);
        return "old";
      }),
    );
    expect(row).toMatchObject(released);
    const second = client(
      db.database,
      handle(slow, async () => {
        go.resolve();
        expect(await late.promise).toEqual([
          false,
          false,
          expect.objectContaining({ code: "LH001" }),
        ]);
        return "new";
      }),
    );
    expect(await second.drain()).toMatchObject({ completed: 1 });
    expect(await rowOf(db, job?.id ?? "")).toMatchObject({
      status: "completed",
      generation: 2,
      result: "new",
      progress: null,
    });
  });
});

describe("a handler that runs longer than its timeout", () => {
  test("fails with TIMEOUT, whether it heeds the signal or not, and the next jobs go on (S32)", async () => {
    const db = await openTestDatabase("postgres");
    const hung = defineJob("hung", { timeout: 150, maxAttempts: 1 });
    const normal = defineJob("normal");
    const leasehold = client(
      db.database,
      handle(hung, async ({ payload, signal }) => {
        if (payload === "ignores") return new Promise(() => undefined);
        await aborted(signal);
        throw signal.reason;
      }),
      handle(normal, () => undefined),
    );
    await leasehold.enqueueMany([
      { job: hung, payload: "ignores" },
      { job: hung, payload: "heeds" },
      ...[1, 2, 3, 4, 5].map(() => ({ job: normal })),
    ]);
    const report = await leasehold.drain({ maxJobs: 10 });
    expect(report).toMatchObject({ reason: "empty", failed: 2, completed: 5 });
    expect(report.jobs.slice(0, 2)).toMatchObject([{ code: "TIMEOUT" }, { code: "TIMEOUT" }]);
    const rows = await Promise.all(report.jobs.slice(0, 2).map(({ id }) => rowOf(db, id)));
    expect(rows[0]?.last_error_message).toContain("the handler did not stop when it was told to");
    expect(rows[1]?.last_error_message).not.toContain("did not stop");
    await db.close();
  });
});
