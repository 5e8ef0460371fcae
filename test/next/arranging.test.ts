import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createLeasehold, defineJob, handle, silentLogger } from "../../src/index.ts";
import { counts, deferred } from "../drain/support/client.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

const assess = defineJob("assess");

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("pglite");
});
beforeEach(() => db.reset());
afterAll(() => db.close());

/** A client whose keepAlive takes as long as the test wants it to. */
function slowlyKept() {
  const arranged = deferred();
  const tasks: (() => Promise<void>)[] = [];
  const run = vi.fn();
  const leasehold = createLeasehold({
    database: db.database,
    handlers: [handle(assess, run)],
    logger: silentLogger,
    keepAlive: async (task) => {
      tasks.push(task);
      await arranged.promise;
    },
  });
  return { leasehold, arranged, tasks, run };
}

test("nothing is written before the work behind the answer is arranged", async () => {
  const { leasehold, arranged, tasks, run } = slowlyKept();
  const starting = leasehold.start(assess);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await counts(db)).toEqual({});
  arranged.resolve();
  expect(await starting).toMatchObject({ outcome: "created" });
  expect(run).not.toHaveBeenCalled();
  await tasks[0]?.();
  expect(await counts(db)).toEqual({ completed: 1 });
  await leasehold.close();
});

test("where the client is closed meanwhile, nothing is written and the work ends at once", async () => {
  const { leasehold, arranged, tasks, run } = slowlyKept();
  const starting = leasehold.start(assess);
  const closed = leasehold.close();
  arranged.resolve();
  await expect(starting).rejects.toMatchObject({ code: "LH109" });
  await tasks[0]?.();
  await closed;
  expect(run).not.toHaveBeenCalled();
  expect(await counts(db)).toEqual({});
});
