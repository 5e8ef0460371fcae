import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createLeasehold, defineJob, handle } from "../../src/index.ts";
import { silentLogger } from "../../src/logger.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { aborted, deferred, rowOf } from "./support/client.ts";

const mail = defineJob("mail");

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterAll(() => db.close());

test("after SIGTERM the job in hand has the client's grace, and is given back", async () => {
  // Without another listener, the signal would end this process once the drain has ended.
  const ignore = () => undefined;
  process.on("SIGTERM", ignore);
  const reasons: unknown[] = [];
  const leasehold = createLeasehold({
    database: db.database,
    logger: silentLogger,
    grace: "50ms",
    handlers: [
      handle(mail, async ({ signal }) => {
        process.emit("SIGTERM", "SIGTERM");
        reasons.push(signal.aborted);
        await aborted(signal);
        reasons.push(signal.reason.because);
        throw signal.reason;
      }),
    ],
  });
  try {
    const answer = await leasehold.enqueue(mail);
    await leasehold.enqueue(mail);
    expect(await leasehold.drain()).toMatchObject({ reason: "sigterm", processed: 1, released: 1 });
    expect(reasons).toEqual([false, "shutdown"]);
    expect(await rowOf(db, "id" in answer ? (answer.id ?? "") : "")).toMatchObject({
      ...{ status: "queued", attempts: 0, last_error_code: "SHUTDOWN", lease_until: null },
    });
  } finally {
    process.off("SIGTERM", ignore);
    await leasehold.close();
  }
});

test("a hook for alerts that hangs does not keep a drain beyond its budget", async () => {
  const hook = deferred();
  let asked = 0;
  const leasehold = createLeasehold({
    database: db.database,
    logger: silentLogger,
    handlers: [handle(mail, () => 1)],
    onAlert: () => {
      asked += 1;
      return hook.promise;
    },
  });
  await db.query(
    `insert into leasehold.alerts (at, severity, code, message) values (now(), 'critical', 'X', 'x')`,
  );
  // Were it to wait for the hook, this would never end.
  expect(await leasehold.drain({ budget: 50, reserve: 0 })).toMatchObject({ processed: 0 });
  expect(asked).toBe(1);
  hook.resolve();
  await leasehold.close();
});
