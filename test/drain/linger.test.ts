import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { client, until } from "./support/client.ts";
import { interposed } from "./support/interposed.ts";

const mail = defineJob("mail");

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterAll(() => db.close());

/** A client whose looks at the queue are counted. */
function counted() {
  const claims = { count: 0 };
  const watched = interposed(db.database, (call) => {
    if (call.name === "claim") claims.count += 1;
    return call.go();
  });
  const leasehold = client(
    watched,
    handle(mail, () => 1),
  );
  return { leasehold, claims };
}

test("a drain that lingers goes on looking where nothing is due, and ends as empty", async () => {
  const { leasehold, claims } = counted();
  const draining = leasehold.drain({ linger: 600, maxJobs: 10 });
  await until(() => claims.count >= 1, "the first look");
  await leasehold.enqueue(mail);
  const report = await draining;
  expect(report).toMatchObject({ reason: "empty", processed: 1 });
  expect(report.durationMs).toBeGreaterThanOrEqual(600);
  // Four looks a second at the most, and one for the job.
  expect(claims.count).toBeLessThanOrEqual(6);
});

test("by default it ends with the first look that finds nothing", async () => {
  const { leasehold, claims } = counted();
  expect(await leasehold.drain()).toMatchObject({ reason: "empty", processed: 0 });
  expect(claims.count).toBe(1);
});

test("jobs that come while it lingers count for its bounds", async () => {
  const { leasehold } = counted();
  const draining = leasehold.drain({ linger: "60s", maxJobs: 2 });
  await leasehold.enqueueMany([{ job: mail }, { job: mail }, { job: mail }]);
  expect(await draining).toMatchObject({ reason: "maxJobs", processed: 2 });
});

test("it claims nothing any more with less than the reserve left", async () => {
  const { leasehold, claims } = counted();
  const draining = leasehold.drain({ budget: 800, reserve: 500, linger: "1h" });
  expect(await draining).toMatchObject({ reason: "budget", processed: 0 });
  expect(claims.count).toBeLessThanOrEqual(2);
});

test.each([
  ["the caller's signal", "aborted", (stop: AbortController) => stop.abort()],
  ["SIGTERM", "sigterm", () => process.emit("SIGTERM", "SIGTERM")],
] as const)("%s ends it at once", async (_, reason, end) => {
  // Without another listener, the signal would end this process once the drain has ended.
  const ignore = () => undefined;
  process.on("SIGTERM", ignore);
  try {
    const { leasehold, claims } = counted();
    const stop = new AbortController();
    const draining = leasehold.drain({ budget: "1h", linger: "1h", signal: stop.signal });
    await until(() => claims.count >= 2, "a look while it lingers");
    end(stop);
    expect(await draining).toMatchObject({ reason, processed: 0 });
  } finally {
    process.off("SIGTERM", ignore);
  }
});

test.each([-1, "soon", "25d", Number.NaN, null])("refuses linger: %j", async (linger) => {
  const { leasehold } = counted();
  await expect(leasehold.drain({ linger: linger as "1s" })).rejects.toMatchObject({
    code: "LH002",
    message: expect.stringContaining("linger"),
  });
});
