import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { routes, secret } from "../http/support/routes.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { idOf } from "../worker/support/workers.ts";
import { client, deferred, eventsOf, rowOf, until } from "./support/client.ts";
import { interposed } from "./support/interposed.ts";

/*
 * A connection that went dead without a word: the call neither answers nor fails. What waits for it
 * would wait for ever, and a process that runs one drain at a time would run none any more.
 */

const job = defineJob("job");
const bounds = { budget: 300, reserve: 50 };

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterAll(() => db.close());

/** The first call of this name is made when `go` resolves, and else never. */
function silentAt(name: string, go: Promise<unknown> = new Promise(() => undefined)) {
  return interposed(db.database, async (call) => {
    if (call.name === name && call.nth === 1) await go;
    return call.go();
  });
}

const over = (database: ReturnType<typeof silentAt>) =>
  client(
    database,
    handle(job, () => "done"),
  );

describe("a drain whose database does not answer any more (S24)", () => {
  test("to its claim rejects; what the claim takes all the same is given back", async () => {
    const go = deferred();
    const leasehold = over(silentAt("claim", go.promise));
    const id = idOf(await leasehold.enqueue(job));
    await expect(leasehold.drain(bounds)).rejects.toThrow("did not answer");
    go.resolve();
    await until(async () => (await eventsOf(db, id)).length > 0, "the release");
    expect(await rowOf(db, id)).toMatchObject({ status: "queued", attempts: 0, generation: 1 });
    expect(await leasehold.drain()).toMatchObject({ completed: 1 });
  });

  test("to the outcome goes home and leaves the job to its lease", async () => {
    const leasehold = over(silentAt("finish_many"));
    const id = idOf(await leasehold.enqueue(job));
    expect(await leasehold.drain(bounds)).toMatchObject({ processed: 1, unrecorded: 1 });
    expect(await rowOf(db, id)).toMatchObject({ status: "running", attempts: 1 });
  });

  test("is followed by the drains that are asked for over HTTP meanwhile and afterwards", async () => {
    const { ask, leasehold } = routes(silentAt("claim"), {
      jobs: [],
      handlers: [handle(job, () => "done")],
      drain: bounds,
    });
    await leasehold.enqueue(job);
    const drain = () => ask("/drain?wait=1", { headers: { authorization: `Bearer ${secret}` } });
    expect((await drain()).status).toBe(503);
    expect(await (await drain()).json()).toMatchObject({ completed: 1 });
  });
});
