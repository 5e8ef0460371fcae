import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { silentLogger } from "../../src/logger.ts";
import { createLeasehold, drainAfter } from "../../src/next/index.ts";
import { client, counts, until } from "../drain/support/client.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

const mail = defineJob("mail");

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterAll(() => db.close());

test("many webhooks at a time: few drains, and each job is done", async () => {
  const leasehold = client(
    db.database,
    handle(mail, () => 1),
  );
  const webhook = async () => {
    await leasehold.enqueue(mail);
    await drainAfter(leasehold, { maxJobs: 2 });
  };
  await Promise.all(Array.from({ length: 12 }, webhook));
  await until(async () => (await counts(db)).completed === 12, "all jobs are done");
  expect(leasehold.toldOf("drained").length).toBeLessThan(12);
  await leasehold.close();
});

test("a drain that fails is logged and told, and leaves no rejection", async () => {
  const error = vi.fn();
  const leasehold = createLeasehold({
    name: "failing",
    handlers: [handle(mail, () => 1)],
    logger: { ...silentLogger, error },
    database: { schema: "leasehold", call: () => Promise.reject(new Error("away")) },
  });
  const told = vi.fn();
  leasehold.on("error", told);
  await drainAfter(leasehold);
  await until(() => told.mock.calls.length > 0, "the event error");
  expect(told).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({
      during: "drain",
      error: expect.objectContaining({ message: "away" }),
    }),
  );
  expect(error).toHaveBeenCalledWith(
    expect.objectContaining({ during: "drain" }),
    "a drain behind an answer failed",
  );
  await leasehold.close();
});

test("refuses at once what would fail behind the answer", async () => {
  const leasehold = client(
    db.database,
    handle(mail, () => 1),
  );
  const refused = (options: object) => drainAfter(leasehold, options);
  await expect(refused({ budget: "soon" })).rejects.toMatchObject({ code: "LH002" });
  await expect(refused({ kinds: ["unknown"] })).rejects.toMatchObject({ code: "LH002" });
  await expect(refused({ signal: null })).rejects.toMatchObject({ code: "LH003" });
  await expect(drainAfter(client(db.database))).rejects.toMatchObject({ code: "LH105" });
  await expect(drainAfter({ ...leasehold })).rejects.toMatchObject({ code: "LH002" });
});
