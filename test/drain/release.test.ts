import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle, type Job, type Logger } from "../../src/index.ts";
import { createLeasehold } from "../../src/leasehold.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { client, deferred, rowOf } from "./support/client.ts";

const job = defineJob("job");

describe.each(backends)("job.release on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  async function run(handler: (job: Job<unknown>) => unknown) {
    const leasehold = client(db.database, handle(job, handler));
    await leasehold.enqueue(job);
    const { jobs } = await leasehold.drain();
    const row = await rowOf(db, jobs[0]?.id ?? "");
    return { leasehold, job: jobs[0], row, waitMs: row.run_after - row.claimed_at };
  }

  test("gives the job back after the given time, under the given code, no attempt spent", async () => {
    const { leasehold, job, row, waitMs } = await run((own) =>
      own.release({ after: "90s", code: "QUOTA" }),
    );
    expect(job).toMatchObject({ outcome: "released", code: "QUOTA", attempt: 1 });
    expect(row).toMatchObject({ status: "queued", attempts: 0, releases: 1, generation: 1 });
    expect(row.last_error_code).toBe("QUOTA");
    expect(waitMs).toBeGreaterThanOrEqual(90_000);
    expect(waitMs).toBeLessThan(120_000);
    expect(leasehold.toldOf("released")).toMatchObject([{ code: "QUOTA", retryAfterMs: 90_000 }]);
  });

  test("waits a second at the least, and is named RELEASED unless told otherwise", async () => {
    for (const options of [undefined, {}, { after: 0 }, { after: "5ms" }]) {
      const { row, waitMs } = await run((own) => own.release(options));
      expect(row.last_error_code).toBe("RELEASED");
      expect(waitMs).toBeGreaterThanOrEqual(1_000);
      expect(waitMs).toBeLessThan(20_000);
    }
  });

  test("may be for weeks", async () => {
    const { row, waitMs } = await run((own) => own.release({ after: "20d" }));
    expect(row).toMatchObject({ status: "queued", attempts: 0, releases: 1 });
    expect(waitMs).toBeGreaterThanOrEqual(20 * 86_400_000);
  });

  test("counts even where the handler swallows it, throws something else or returns", async () => {
    const swallowed = await run(async (own) => {
      try {
        own.release({ code: "FIRST" });
      } catch {
        return "done, or so it thinks";
      }
    });
    expect(swallowed.row).toMatchObject({ status: "queued", result: null, releases: 1 });
    const replaced = await run((own) => {
      try {
        own.release({ code: "FIRST" });
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: this is what is tested.
        throw new Error("another");
      }
    });
    expect(replaced.row).toMatchObject({ last_error_code: "FIRST", attempts: 0 });
  });

  test("of a job that was cancelled meanwhile ends it as cancelled, and says so", async () => {
    const { leasehold, job, row } = await run(async (own) => {
      await db.database.call("cancel", { p_id: own.id });
      own.release();
    });
    expect(row).toMatchObject({ status: "cancelled" });
    expect(job).toMatchObject({ outcome: "cancelled" });
    expect(leasehold.told.map(({ name }) => name)).toEqual(["started", "cancelled", "drained"]);
  });

  test("with a bad option throws by its name, and the attempt fails", async () => {
    const bad: [object, string][] = [
      [{ after: -1 }, "after"],
      [{ after: Number.NaN }, "after"],
      [{ after: "soon" }, "after"],
      [{ after: 2 ** 31 }, "after"],
      [{ after: null }, "after"],
      [{ code: "" }, "code"],
      [{ code: 5 }, "code"],
      [{ code: "a\0" }, "code"],
      [{ code: "c".repeat(101) }, "code"],
      [{ retryAfter: 5 }, "retryAfter"],
      [null as unknown as object, "options of release"],
    ];
    const thrown: unknown[] = [];
    const { row } = await run((own) => {
      for (const [options] of bad) {
        try {
          own.release(options);
        } catch (error) {
          thrown.push((error as Error).message);
        }
      }
      own.release({ aftr: "1m" } as object);
    });
    expect(thrown).toEqual(bad.map(([, name]) => expect.stringContaining(name)));
    expect(row).toMatchObject({ status: "queued", attempts: 1, releases: 0 });
    expect(row).toMatchObject({ last_error_code: "LH003" });
    expect(row.last_error_message).toContain("Did you mean after?");
  });
});

describe("a job", () => {
  test("tells its handler who it is, and names itself in every line of its log", async () => {
    const db = await openTestDatabase("postgres");
    const lines: unknown[] = [];
    const write = (fields: object, message: string) => lines.push({ ...fields, message });
    const logger: Logger = { debug: write, info: write, warn: write, error: write };
    const seen = deferred<Job<unknown>>();
    const leasehold = createLeasehold({
      database: db.database,
      logger,
      handlers: [
        handle(job, (own) => {
          own.log.info({ page: 3 }, "fetched");
          own.log.warn({ kind: "mine" }, "a field of its own wins");
          seen.resolve(own);
        }),
      ],
    });
    const answer = await leasehold.enqueue(
      job,
      { a: 1 },
      { key: "k", owner: "ann", maxAttempts: 2 },
    );
    await leasehold.drain();
    const id = "id" in answer && answer.id;
    expect(await seen.promise).toMatchObject({
      id,
      kind: "job",
      key: "k",
      owner: "ann",
      payload: { a: 1 },
      attempt: 1,
      maxAttempts: 2,
      generation: 1,
    });
    expect(lines).toEqual([
      { job: id, kind: "job", page: 3, message: "fetched" },
      { job: id, kind: "mine", message: "a field of its own wins" },
    ]);
    await db.close();
  });

  test("has methods that work on their own, taken out of the job", async () => {
    const db = await openTestDatabase("postgres");
    const leasehold = client(
      db.database,
      handle(job, async ({ extend, progress, transaction, release, payload }) => {
        expect([await extend(), await progress(1)]).toEqual([true, true]);
        if (payload === "release") release();
        return transaction(() => "done");
      }),
    );
    await leasehold.enqueueMany(["release", "complete"].map((payload) => ({ job, payload })));
    expect(await leasehold.drain()).toMatchObject({ released: 1, completed: 1 });
    await db.close();
  });
});
