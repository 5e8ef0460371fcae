import nodePostgres from "pg";
import { expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { pg } from "../../src/pg/index.ts";
import { client, counts, until } from "../drain/support/client.ts";
import { workplace } from "./support/workers.ts";

const job = defineJob("job");
const place = workplace("postgres");

test("a pool of one connection serves a worker and its handlers, and one more hears (S26)", async () => {
  const connectionString = `${place.db.url}?application_name=small`;
  const pool = new nodePostgres.Pool({ connectionString, max: 1 });
  const used = "select count(*)::int from pg_stat_activity where application_name = 'small'";
  let most = 0;
  const leasehold = client(
    pg(pool),
    handle(job, async (own) => {
      await pool.query("select pg_sleep(0.02)");
      most = Math.max(most, await place.db.value(used));
      await own.transaction((tx) => tx.query("select pg_sleep(0.02)"));
    }),
  );
  await leasehold.enqueueMany(Array.from({ length: 20 }, () => ({ job })));
  const worker = place.work(leasehold, { concurrency: 5 });
  await until(async () => (await counts(place.db)).completed === 20, "all");
  await until(() => worker.health().listening && worker.health().running === 0, "listening");
  expect(most).toBeLessThanOrEqual(2);
  expect(await place.db.value(used)).toBe(2);
  expect(await worker.stop()).toMatchObject({ completed: 20 });
  expect(leasehold.toldOf("error")).toEqual([]);
  await pool.end();
  await until(async () => (await place.db.value(used)) === 0, "no connection left");
});
