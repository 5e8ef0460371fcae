import { afterAll, beforeAll, expect, test } from "vitest";
import { createLeasehold, defineJob, handle } from "../../src/index.ts";
import { silentLogger } from "../../src/logger.ts";
import { type ExplainedSession, openExplained } from "../sql/support/explained.ts";
import type { Session } from "../support/databases.ts";
import { workplace } from "./support/workers.ts";

/*
 * While any transaction is open, no row version that it might still see can be removed: each update
 * leaves a dead one behind, and whoever looks for due jobs meets them all.
 */

const place = workplace("postgres");
let elsewhere: Session;
let session: ExplainedSession;

beforeAll(async () => {
  // Counts every version that an update leaves behind.
  await place.db.query(`
    create table public.versions (job uuid);
    create function public.count_version() returns trigger language plpgsql as
      $$ begin insert into public.versions values (old.id); return null; end $$;
    create trigger versions after update on leasehold.jobs
      for each row execute function public.count_version()`);
  elsewhere = await place.db.connect();
  session = await openExplained(place.db.url);
});
afterAll(() => session?.close());

const claim = "select * from leasehold.claim(array['trivial'])";

test("a job leaves two dead versions of its row, and a claim is as cheap as ever after a vacuum (S36)", async () => {
  const trivial = defineJob("trivial");
  const jobs = 2_000;
  const doneAt: number[] = [];
  const client = () =>
    createLeasehold({
      database: place.db.database,
      logger: silentLogger,
      housekeeping: false,
      handlers: [handle(trivial, () => void doneAt.push(performance.now()))],
    });
  await client().enqueueMany(Array.from({ length: jobs }, () => ({ job: trivial })));
  await session.run(claim);
  await elsewhere.begin();
  await elsewhere.query("set transaction isolation level repeatable read");
  await elsewhere.query("select 1");
  const workers = [1, 2, 3, 4].map(() => place.work(client()));
  // The one that was claimed above stays with its claim.
  await place.completed(jobs - 1);
  for (const worker of workers) await worker.stop();
  expect(
    await place.db.query(
      `select versions, count(*) from (select count(*) as versions from public.versions
       group by job) of_jobs group by versions order by versions`,
    ),
  ).toEqual([
    { versions: 1, count: 1 },
    { versions: 2, count: jobs - 1 },
  ]);
  tellRates(doneAt);

  await elsewhere.commit();
  await place.db.query("vacuum leasehold.jobs");
  await client().enqueueMany([{ job: trivial }, { job: trivial }]);
  await session.run(claim);
  const { rows, buffers } = await session.run(claim);
  expect(rows).toHaveLength(1);
  expect(buffers).toBeLessThan(200);
});

test("a job that fails once leaves four, and one whose lease is renewed one more for each time (S36)", async () => {
  const fails = defineJob("fails");
  const renewed = defineJob("renewed");
  const leasehold = createLeasehold({
    database: place.db.database,
    logger: silentLogger,
    handlers: [
      handle(fails, ({ attempt }) => {
        if (attempt === 1) throw Object.assign(new Error("once"), { retryAfterMs: 0 });
      }),
      handle(renewed, async (job) => {
        await job.extend();
        await job.extend();
      }),
    ],
  });
  await place.db.query("truncate public.versions");
  await leasehold.enqueueMany([{ job: fails }, { job: renewed }]);
  const worker = place.work(leasehold);
  await place.completed(2);
  await worker.stop();
  expect(
    await place.db.query(
      `select j.kind, count(*) from public.versions v join leasehold.jobs j on j.id = v.job
       group by j.kind order by j.kind`,
    ),
  ).toEqual([
    { kind: "fails", count: 4 },
    { kind: "renewed", count: 4 },
  ]);
});

/** For whoever reads along; how fast a machine is proves nothing. */
function tellRates(doneAt: readonly number[]): void {
  const tenth = Math.floor(doneAt.length / 10);
  const tookMs = (from: number) => (doneAt.at(from + tenth) ?? 0) - (doneAt.at(from) ?? 0);
  const ratio = tookMs(0) / tookMs(-tenth - 1);
  console.info(
    `with every dead row in place, the last tenth ran at ${ratio.toFixed(2)} of the first`,
  );
}
