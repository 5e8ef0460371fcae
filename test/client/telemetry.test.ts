import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  createLeasehold,
  defineJob,
  handle,
  type Logger,
  silentLogger,
  type Telemetry,
} from "../../src/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

const job = defineJob("job");

describe("a telemetry", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase("postgres");
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  /** Enqueues a job and drains it; answers the row, and what was logged. */
  async function worked(telemetry: Telemetry) {
    const logged: string[] = [];
    const logger: Logger = { ...silentLogger, error: (_, message) => void logged.push(message) };
    const handlers = [handle(job, () => "done")];
    const leasehold = createLeasehold({
      database: db.database,
      housekeeping: false,
      ...{ handlers, logger, telemetry },
    });
    await leasehold.enqueue(job);
    await leasehold.enqueueMany([{ job }]);
    await leasehold.drain();
    await leasehold.close();
    const rows = await db.query(
      "select status, generation, trace_context from leasehold.jobs order by id",
    );
    return { rows, logged: [...new Set(logged)] };
  }
  const done = { status: "completed", generation: 1 };
  const both = (trace_context: unknown) => [done, done].map((each) => ({ ...each, trace_context }));

  const throws = () => {
    throw new Error("no");
  };
  test.each<[string, Telemetry, boolean]>([
    ["throws", { attach: throws, enqueue: throws, attempt: throws, called: throws }, true],
    ["calls nothing", { enqueue: () => undefined, attempt: () => undefined }, false],
    ["has no methods", {}, false],
    [
      "calls what it is given twice",
      {
        enqueue: (_, send) => void [send(), send()],
        attempt: (_, run) => void [run(), run()],
      },
      false,
    ],
    [
      "calls and then throws",
      {
        enqueue(_, send) {
          void send();
          throws();
        },
        attempt(_, run) {
          void run();
          throws();
        },
      },
      true,
    ],
  ])("that %s changes nothing of the work", async (_, telemetry, isLogged) => {
    const { rows, logged } = await worked(telemetry);
    expect(rows).toEqual(both(null));
    expect(logged).toEqual(isLogged ? ["the telemetry threw"] : []);
  });

  test.each<[string, unknown, unknown]>([
    ["texts", { traceparent: "00-a", other: 1 }, { traceparent: "00-a" }],
    ["nothing but numbers", { a: 1 }, null],
    ["too much", { a: "x".repeat(8_192) }, null],
    ["just not too much", { a: "é".repeat(4_090) }, { a: "é".repeat(4_090) }],
    ["what PostgreSQL can't hold", { a: "\u0000" }, null],
    ["no object", "00-a", null],
    ["null", null, null],
  ])("that sends %s as trace context has the job enqueued all the same", async (_, trace, kept) => {
    const { rows } = await worked({ enqueue: (_, send) => void send(trace as never) });
    expect(rows).toEqual(both(kept));
  });

  test("hears what it is told", async () => {
    const heard: unknown[] = [];
    await worked({
      attach: ({ database }) => {
        heard.push(`attached to ${database.schema}`);
        return () => void heard.push("detached");
      },
      enqueue: (kinds, send) =>
        void send({ traceparent: "t" }).then((answers) => heard.push([kinds, answers.length])),
      attempt: ({ attempt, traceContext }, run) =>
        void run().then(({ finished }) => heard.push([attempt, traceContext, finished.outcome])),
      called: ({ name, durationMs }) => heard.push(durationMs >= 0 && name),
    });
    const attempt = ["claim", "finish_many", [1, { traceparent: "t" }, "completed"]];
    expect(heard).toEqual([
      ...["attached to leasehold", [["job"], 1], [["job"], 1]],
      ...[...attempt, ...attempt, "claim", "detached"],
    ]);
  });

  test("that is none is refused", () => {
    const telemetry = (() => undefined) as never;
    expect(() => createLeasehold({ database: db.database, telemetry })).toThrow(/^telemetry is/);
  });
});
