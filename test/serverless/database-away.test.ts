import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pg } from "../../src/pg/index.ts";
import { migrate } from "../../src/schema/index.ts";
import { until } from "../drain/support/client.ts";
import { withClient } from "../support/template.ts";
import { type RestartableServer, restartableServer } from "../worker/support/restartable.ts";
import { openPlace, type Place, tables } from "./support/place.ts";
import type { Instance } from "./support/platform.ts";

const emptied = "truncate leasehold.jobs, leasehold.job_events, public.runs, public.effects";

let server: RestartableServer;
beforeAll(async () => {
  server = await restartableServer();
  const database = pg(server.url);
  await migrate(database);
  await database.close?.();
  await withClient(server.url, (client) => client.query(tables));
});
beforeEach(() => withClient(server.url, (client) => client.query(emptied)));
afterAll(() => server.stop());

/** The first row that a query answers. */
function asked(sql: string, ...values: unknown[]): Promise<Record<string, unknown> | undefined> {
  return withClient(server.url, async (client) => (await client.query(sql, values)).rows[0]);
}

/** What is known of a job in the end. */
async function stateOf(id: string) {
  const job = await asked("select * from leasehold.jobs where id = $1", id);
  const events = await asked(
    "select coalesce(json_agg(event order by id), '[]') as list from leasehold.job_events where job_id = $1",
    id,
  );
  const effects = await asked("select json_agg(generation) as list from public.effects");
  return { job, events: events?.list, effects: effects?.list };
}

describe("a database that goes away between the work and its outcome", () => {
  let place: Place;
  let instance: Instance;
  let id: string;

  /** A job of this deed is in its middle, and the database is away. */
  async function crashInTheMiddle(does: "waits" | "writes", budgetMs = 2_000) {
    place = openPlace(server.url, { leaseMs: 1_500, budgetMs, limitMs: budgetMs + 10_000 });
    instance = await place.platform.start();
    [id = ""] = await place.enqueue({ does });
    const drain = place.drain(instance);
    await until(() => place.platform.toldOf("middle").length === 1, "the job is in its middle");
    await server.crash();
    instance.say(`${id}.1`);
    return drain;
  }

  for (const does of ["waits", "writes"] as const) {
    test(`for longer than the drain lasts: the lease brings a job that ${does} back, and one result is left`, async () => {
      const { response, over } = await crashInTheMiddle(does);
      expect((await response).body).toMatchObject({ processed: 1, completed: 0, unrecorded: 1 });
      await over;
      await server.startAgain();
      const before = await stateOf(id);
      expect(before.job).toMatchObject({ status: "running", generation: 1, attempts: 1 });
      // A cron looks until the lease is over.
      const cron = until(async () => {
        const { body } = await place.drain(instance).response;
        return body.completed === 1;
      }, "the job is done");
      await until(() => place.platform.toldOf("middle").length === 2, "it runs again");
      instance.say(`${id}.2`);
      await cron;
      expect(await stateOf(id)).toMatchObject({
        job: { status: "completed", result: 2, generation: 2, attempts: 2 },
        events: ["reaped"],
        effects: does === "writes" ? [2] : null,
      });
      expect(place.platform.forced).toEqual([]);
      await place.close();
    });
  }

  test("and comes back before the drain ends: the outcome is recorded, and nothing runs again", async () => {
    const { response } = await crashInTheMiddle("waits", 20_000);
    await until(() => place.platform.toldOf("goes on").length === 1, "the work is done");
    await server.startAgain();
    expect((await response).body).toMatchObject({ completed: 1 });
    expect(await stateOf(id)).toMatchObject({
      job: { status: "completed", result: 1, generation: 1, attempts: 1 },
      events: [],
    });
    expect(place.platform.toldOf("handled")).toHaveLength(1);
    expect(place.platform.forced).toEqual([]);
    await place.close();
  });
});
