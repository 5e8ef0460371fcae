import { afterAll, beforeAll, expect, test } from "vitest";
import { makeProject, type Project, type Running, startLeasehold } from "../cli/binary.ts";
import { until } from "../drain/support/client.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

const jobs = 10_000;

/** Each job writes its row under guard, together with its completion. */
const handlers = `
import { defineJob, handle } from "leasehold";

export const write = handle(defineJob("write", { lease: "3s" }), (job) =>
  job.transaction((client) =>
    client.query("insert into public.effects (job_id, generation) values ($1, $2)", [job.id, job.generation])));
`;

let db: TestDatabase;
let project: Project;

beforeAll(async () => {
  db = await openTestDatabase("postgres");
  await db.query("create table public.effects (job_id uuid, generation int)");
  project = makeProject();
  project.write("handlers.ts", handlers);
});
afterAll(async () => {
  project.remove();
  await db.close();
});

test("ten thousand jobs through five workers, two of them killed, take effect once each", async () => {
  for (let i = 0; i < jobs; i += 5_000) {
    const some = Array.from({ length: 5_000 }, () => ({ kind: "write" }));
    await db.database.call("enqueue_many", { p_jobs: some });
  }
  const workers = await Promise.all(Array.from({ length: 5 }, () => startWorker()));
  await killAfter(workers[0], 1_500);
  await killAfter(workers[1], 4_000);
  await until(async () => (await effects()) === jobs, "every job took effect", 100_000);
  const survivors = workers.slice(2);
  for (const { child } of survivors) child.kill("SIGTERM");
  for (const { ended } of survivors) expect(await ended).toMatchObject({ code: 143 });

  const [state] = await db.query(`
    select count(*) as jobs, count(*) filter (where status = 'completed') as completed,
      count(*) filter (where attempts > 1) as again
    from leasehold.jobs`);
  expect(state).toMatchObject({ jobs, completed: jobs });
  // The two had jobs in hand: without any, this would have tested nothing.
  expect(state?.again).toBeGreaterThan(0);
  const [written] = await db.query(`
    select count(*) as rows, count(distinct e.job_id) as jobs,
      count(*) filter (where e.generation = j.generation) as by_the_last_claim
    from public.effects e join leasehold.jobs j on j.id = e.job_id`);
  expect(written).toEqual({ rows: jobs, jobs, by_the_last_claim: jobs });
  expect(await db.query("select * from leasehold.workers")).toEqual([]);
}, 120_000);

async function startWorker(): Promise<Running> {
  const args = ["work", "handlers.ts", "--concurrency", "20", "--poll", "500ms"];
  const running = startLeasehold(args, { cwd: project.folder, env: { DATABASE_URL: db.url } });
  await running.says("Working as");
  return running;
}

/** Kills the worker once so many jobs are done and it has some in hand. */
async function killAfter(worker: Running | undefined, done: number): Promise<void> {
  const name = /Working as (\S+),/.exec(worker?.said() ?? "")?.[1];
  await until(async () => {
    const held = await db.value(
      "select count(*) from leasehold.jobs where status = 'running' and worker = $1",
      [name],
    );
    if (held === 0 || Number(await effects()) < done) return false;
    return worker?.child.kill("SIGKILL");
  }, `${done} jobs done`);
}

const effects = () => db.value("select count(*) from public.effects");
