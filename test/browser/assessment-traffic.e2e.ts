import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Assessment,
  cookieOf,
  openAssessment,
  request,
  submit,
} from "./support/assessment.ts";
import type { NextServer } from "./support/next-server.ts";
import { grant, jobsOf } from "./support/points.ts";
import { until } from "./support/until.ts";

let app: Assessment;
let server: NextServer;

beforeAll(async () => {
  app = await openAssessment();
});
afterAll(async () => {
  await server?.kill();
  await app?.stop();
});

async function count(sql: string): Promise<number> {
  const [row] = await app.database.query(`select count(*)::int as n from ${sql}`);
  return row?.n;
}

/** A job of `user` that has completed. */
async function completed(user: string): Promise<string> {
  await grant(app.database, user, 1);
  const { id } = (await (await submit(server, user)).json()) as { id: string };
  const isOver = async () => (await jobsOf(app.database, user)).every((job) => job.finished_at);
  await until(isOver, "the end of the job");
  return id;
}

/** How long a status takes in the middle, in milliseconds, of fifty one after the other. */
async function medianOf(user: string, id: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 50; i += 1) {
    const askedAt = performance.now();
    await (await request(server, user, `/jobs/${id}`)).text();
    times.push(performance.now() - askedAt);
  }
  return times.sort((a, b) => a - b)[25] ?? 0;
}

test("requests alone clean up what is old and what is dead, and take no longer for it", async () => {
  server = await app.serve();
  const id = await completed("ann");
  const empty = await medianOf("ann", id);

  // 2,000 jobs past their 30 days, and 50 whose process died; none of them is ever asked for.
  await app.database.query(`
    select leasehold.enqueue_many(jsonb_agg(jsonb_build_object('kind', 'assess', 'owner', 'past', 'max_attempts', 1)))
    from generate_series(1, 2000)`);
  await app.database.query(`select leasehold.cancel_many('{"owner": "past", "limit": 10000}')`);
  await app.database.query(`
    update leasehold.jobs set finished_at = finished_at - interval '31 days' where owner = 'past'`);
  await app.database.query(`
    select leasehold.enqueue_many(jsonb_agg(jsonb_build_object('kind', 'assess', 'owner', 'dead', 'max_attempts', 1)))
    from generate_series(1, 50)`);
  await app.database.query("select leasehold.claim(array['assess'], 50)");
  await app.database.query(`
    update leasehold.jobs set lease_until = lease_until - interval '1 day' where owner = 'dead'`);
  await app.database.query(`
    update assessments set created_at = created_at - interval '31 days'`);
  expect(await count("leasehold.jobs where owner in ('past', 'dead') and status <> 'queued'")).toBe(
    2_050,
  );
  expect(await count("assessments")).toBe(1);

  // As if the last clean-up were long ago: this process knows of none.
  await server.kill();
  await app.database.query("update leasehold.ticks set last_at = '-infinity'");
  server = await app.serve();
  const full = await medianOf("ann", id);
  await fetch(server.url, { headers: { cookie: cookieOf("ann") } }).then((page) => page.text());
  await until(() => count("assessments").then((n) => n === 0), "the application's own sweep");
  const alive = "leasehold.jobs where owner = 'dead' and status = 'running'";
  await until(() => count(alive).then((n) => n === 0), "the end of the dead");
  // A clean-up takes a thousand, once a minute: for the rest a minute is put back.
  await until(
    () => count("leasehold.jobs where owner = 'past'").then((n) => n <= 1_000),
    "the first half",
  );
  await server.kill();
  await app.database.query("update leasehold.ticks set last_at = '-infinity'");
  server = await app.serve();
  await request(server, "ann", `/jobs/${id}`);
  await until(() => count("leasehold.jobs where owner = 'past'").then((n) => n === 0), "the rest");
  const clean = await medianOf("ann", id);

  const rounded = [empty, full, clean].map((ms) => ms.toFixed(1));
  console.info(
    `status, median: ${rounded[0]} ms empty, ${rounded[1]} ms full, ${rounded[2]} ms clean`,
  );
  expect(full).toBeLessThan(empty * 5 + 50);
  expect(await count("leasehold.workers")).toBe(0);
});
