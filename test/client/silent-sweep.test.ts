import { setImmediate } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { client } from "../drain/support/client.ts";
import { interposed } from "../drain/support/interposed.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterEach(() => void vi.useRealTimers());
afterAll(() => db.close());

test("a question that is never answered is not the last one of its name (S24)", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const database = interposed(db.database, (call) =>
    call.nth === 1 ? new Promise(() => undefined) : call.go(),
  );
  const leasehold = client(database);
  let ran = 0;
  const sweep = () =>
    leasehold.sweep("chore", "1s", () => {
      ran += 1;
    });
  sweep();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(leasehold.toldOf("error")).toMatchObject([{ during: "sweep" }]);
  await vi.advanceTimersByTimeAsync(10_000);
  sweep();
  while (ran === 0) await setImmediate();
  expect(database.calls).toEqual(["every", "every"]);
});
