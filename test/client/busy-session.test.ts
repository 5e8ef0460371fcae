import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLeasehold, defineJob, handle, type Leasehold } from "../../src/index.ts";
import { silentLogger } from "../../src/logger.ts";
import { pglite } from "../../src/pglite/index.ts";
import { counts, deferred, until } from "../drain/support/client.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

/*
 * PGlite has one session, which a transaction of the application's keeps busy: a call that it awaits
 * without { tx } would wait for ever, and everything after it.
 */

const job = defineJob("job");
const anyId = "0198a000-0000-7000-8000-000000000000";

let db: TestDatabase;
let leasehold: Leasehold;
beforeAll(async () => {
  db = await openTestDatabase("pglite");
  leasehold = createLeasehold({
    database: pglite(db.pglite, { busyTimeoutMs: 50 }),
    logger: silentLogger,
    housekeeping: false,
    handlers: [handle(job, () => "done")],
  });
});
beforeEach(() => db.reset());
afterAll(async () => {
  await leasehold.close();
  await db.close();
});

const calls: Record<string, () => Promise<unknown>> = {
  enqueue: () => leasehold.enqueue(job),
  enqueueMany: () => leasehold.enqueueMany([{ job }]),
  start: () => leasehold.start(job),
  status: () => leasehold.status(anyId),
  cancel: () => leasehold.cancel(anyId),
  retry: () => leasehold.retry(anyId),
  drain: () => leasehold.drain(),
  invalidate: () => leasehold.invalidate("a key", { shared: true }),
  credits: () => leasehold.credits("an account"),
  grantCredits: () => leasehold.grantCredits("an account", 1, "a reference"),
  alerts: () => leasehold.alerts(),
};

describe("within a transaction of the application's on PGlite (S47)", () => {
  test.each(Object.entries(calls))(
    "%s without { tx } is given up, names { tx }, and the queue goes on afterwards",
    async (_, call) => {
      const inside = db.pglite.transaction(call);
      await expect(inside).rejects.toMatchObject({ code: "LH108" });
      await expect(inside).rejects.toThrow("{ tx }");
      expect(await leasehold.enqueue(job)).toMatchObject({ outcome: "created" });
      expect(await counts(db)).toEqual({ queued: 1 });
    },
  );

  test("singleFlight across processes loads by itself, and joins the others again afterwards", async () => {
    const load = () => leasehold.singleFlight("a key", { ttl: "1m", shared: true }, () => "loaded");
    expect(await db.pglite.transaction(load)).toBe("loaded");
    await until(async () => {
      await load();
      return (await db.query("select from leasehold.cache")).length === 1;
    }, "a value in the table");
  });

  test("enqueue with { tx } works, and belongs to it", async () => {
    await db.pglite.transaction(async (tx) => {
      await leasehold.enqueue(job, {}, { tx });
    });
    const undone = db.pglite.transaction(async (tx) => {
      await leasehold.enqueue(job, {}, { tx });
      throw new Error("rolled back");
    });
    await expect(undone).rejects.toThrow("rolled back");
    expect(await counts(db)).toEqual({ queued: 1 });
  });

  test("a worker beside it waits and works on, however often it found the session busy", async () => {
    const gate = deferred();
    const worker = leasehold.work({ signals: false, poll: 100, idlePoll: 100 });
    const errors: unknown[] = [];
    const off = leasehold.on("error", ({ error }) => errors.push(error));
    await until(() => worker.health().ready, "the worker is ready");
    const transaction = db.pglite.transaction(async (tx) => {
      await leasehold.enqueue(job, {}, { tx });
      await gate.promise;
    });
    await until(() => errors.length > 0, "a call of the worker's that was given up");
    gate.resolve();
    await transaction;
    await until(async () => (await counts(db)).completed === 1, "the job is completed");
    off();
    expect(errors).toEqual(errors.map(() => expect.objectContaining({ code: "LH108" })));
    expect(await worker.stop()).toMatchObject({ completed: 1, lost: 0 });
  });
});
