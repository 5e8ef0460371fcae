import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { accessOf } from "../../src/client-access.ts";
import { defineJob, handle } from "../../src/index.ts";
import { renderWakeups } from "../../src/schema/index.ts";
import { counts, until } from "../drain/support/client.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { type PgNet, startPgNet } from "../support/pg-net.ts";
import { noStandIns, standIns } from "../support/supabase-stand-ins.ts";
import { routes, secret } from "./support/routes.ts";
import { type Served, serve } from "./support/server.ts";

const job = defineJob("job");

let db: TestDatabase;
let net: PgNet;
let app: ReturnType<typeof routes>;
let server: Served;
let ran: string[];

beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
afterAll(() => db.close());

beforeEach(async (context) => {
  await db.query(noStandIns);
  await db.reset();
  await db.query(standIns);
  ran = [];
  const run = handle(job, ({ id }) => void ran.push(id));
  app = routes(db.database, { jobs: [], handlers: [run], drain: { maxJobs: 100 } });
  server = await serve(app.handler.fetch);
  const secrets = [`${server.url}/api/leasehold/drain`, secret];
  await db.query(
    "insert into vault.secrets values ('leasehold_drain_url', $1), ('leasehold_drain_secret', $2)",
    secrets,
  );
  await db.query(renderWakeups());
  net = startPgNet(db);
  context.onTestFinished(async () => {
    await net.stop();
    // Behind whatever lingers.
    await accessOf(app.leasehold)?.drains.run({});
    await server.close();
  });
});

const done = (count: number) =>
  until(async () => (await counts(db)).completed === count, `${count} jobs are done`);

test("an enqueue from psql is worked on by the function that the database wakes", async () => {
  await db.query("select leasehold.enqueue('job')");
  await done(1);
  await until(() => net.sent.length === 1, "the call");
  expect(net.sent).toEqual([{ url: `${server.url}/api/leasehold/drain?linger=2s`, status: 202 }]);
});

test("a burst is worked on whole by the one call that its first job makes", async () => {
  // All within its second, and yet behind the first look of the drain.
  await db.query("select leasehold.enqueue('job')");
  await done(1);
  for (let i = 0; i < 30; i += 1) await db.query("select leasehold.enqueue('job')");
  await done(31);
  expect(net.sent.length).toBeLessThanOrEqual(2);
  expect([ran.length, new Set(ran).size]).toEqual([31, 31]);
});

test("a call that is doubled, late, or wrong does no harm", async () => {
  await db.query('select leasehold.enqueue_many(\'[{"kind": "job"}, {"kind": "job"}]\')');
  await db.query(
    "select leasehold_wakeups.call(), leasehold_wakeups.call(), leasehold_wakeups.tick()",
  );
  await done(2);
  await db.query("select leasehold_wakeups.call()");
  await db.query("update vault.secrets set decrypted_secret = 'of another application'");
  await db.query("select leasehold_wakeups.call()");
  const refused =
    "update vault.secrets set decrypted_secret = 'http://127.0.0.1:1' where name like '%url'";
  await db.query(refused);
  await db.query("select leasehold_wakeups.call()");
  await until(() => net.sent.length >= 6, "all calls");
  expect(ran).toHaveLength(2);
});

test("one that is missing is made up for by the next tick of the clock", async () => {
  await db.query("update vault.secrets set name = name || '?'");
  await db.query("select leasehold.enqueue('job')");
  await db.query("update vault.secrets set name = rtrim(name, '?')");
  expect(await counts(db)).toEqual({ queued: 1 });
  await db.query("select leasehold_wakeups.tick()");
  await done(1);
  expect(await db.value("select leasehold_wakeups.tick()")).toBeNull();
});
