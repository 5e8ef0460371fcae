import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Database, defineJob, handle, type Job } from "../../src/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { client } from "./support/client.ts";
import { connectionLost, failing, interposed } from "./support/interposed.ts";

const work = defineJob("work", { lease: "1m", backoff: [0], key: () => "the only one" });

type Handler = (job: Job<unknown>) => unknown;

describe("job.step while the database is away", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase("postgres");
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  const drain = async (database: Database, handler: Handler) => {
    const leasehold = client(database, handle(work, handler));
    await leasehold.enqueue(work);
    const report = await leasehold.drain({ maxJobs: 1 });
    return report.jobs[0];
  };

  test.each(["step_save", "step_names", "step_load"] as const)(
    "%s is tried again, and the work is not",
    async (name) => {
      let ran = 0;
      const handler: Handler = (job) => job.step("a", () => ++ran);
      if (name !== "step_save") {
        await drain(db.database, async (job) => {
          await handler(job);
          throw new Error("interrupted");
        });
      }
      const database = failing(db.database, name, 3);
      expect(await drain(database, handler)).toMatchObject({ outcome: "completed" });
      expect(database.calls.filter((each) => each === name)).toHaveLength(4);
      expect(ran).toBe(1);
    },
  );

  test("a save whose answer was lost is repeated, and the first value stands", async () => {
    const database = interposed(db.database, async (call) => {
      const answer = await call.go();
      if (call.name === "step_save" && call.nth === 1) throw connectionLost();
      return answer;
    });
    const { outcome } = (await drain(database, (job) => job.step("a", () => "once"))) ?? {};
    expect(outcome).toBe("completed");
    expect(await db.query("select value from leasehold.steps")).toEqual([{ value: "once" }]);
  });

  test.each(["22P05", "42501", "LH004", "LH007"])(
    "what the database refuses for good (%s) is thrown at once",
    async (code) => {
      const refusing = interposed(db.database, async (call) => {
        if (call.name === "step_save") throw Object.assign(new Error("no"), { code });
        return call.go();
      });
      const job = await drain(refusing, (own) => own.step("a", () => 1));
      expect(job).toMatchObject({ code });
      expect(refusing.calls.filter((each) => each === "step_save")).toHaveLength(1);
    },
  );

  test("a save is tried until the signal aborts and once more, which then is the reason", async () => {
    const stopping = new AbortController();
    let saves = 0;
    const database = interposed(db.database, async (call) => {
      if (call.name !== "step_save") return call.go();
      saves += 1;
      if (saves === 2) stopping.abort();
      throw connectionLost();
    });
    let thrown: unknown;
    const leasehold = client(
      database,
      handle(work, async (job) => {
        await job
          .step("a", () => 1)
          .catch((error: unknown) => {
            thrown = error;
          });
      }),
    );
    await leasehold.enqueue(work);
    const report = await leasehold.drain({ signal: stopping.signal });
    expect(thrown).toMatchObject({ because: "shutdown" });
    expect(saves).toBe(3);
    expect(report).toMatchObject({ processed: 1 });
  });
});
