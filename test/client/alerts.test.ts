import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { defineJob, handle, type LeaseholdAlert } from "../../src/index.ts";
import { recorded } from "../drain/support/client.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterAll(() => db.close());

/** Three alerts, and a client that is told of them with each of its drains. */
async function told(onAlert: (alert: LeaseholdAlert) => unknown) {
  for (const message of ["one", "two", "three"]) {
    await db.query(
      `insert into leasehold.alerts (at, severity, code, message)
       values (clock_timestamp(), 'critical', 'MONEY_UNKNOWN', $1)`,
      [message],
    );
  }
  return recorded({
    ...{ database: db.database, housekeeping: false, onAlert },
    handlers: [handle(defineJob("job"), () => undefined)],
  });
}

const untold = async () =>
  (await db.query("select message from leasehold.alerts where told_at is null")).map(
    ({ message }) => message,
  );

test("an alert that its hook throws at keeps no other from being told (S14)", async () => {
  const heard: string[] = [];
  const leasehold = await told(({ message }) => {
    if (message === "one") throw new Error("no");
    heard.push(message);
  });
  await leasehold.drain();
  expect(heard).toEqual(["two", "three"]);
  expect(await untold()).toEqual(["one"]);
  expect(leasehold.toldOf("error")).toMatchObject([{ during: "alert" }]);
  await leasehold.close();
});

test("an alert whose hook never answers keeps no other from being told (S32)", async () => {
  const heard: string[] = [];
  const leasehold = await told(({ message }) => {
    if (message === "one") return new Promise(() => undefined);
    heard.push(message);
    return undefined;
  });
  await leasehold.drain({ budget: 50, reserve: 0 });
  await expect.poll(untold).toEqual(["one"]);
  expect(heard).toEqual(["two", "three"]);
});
