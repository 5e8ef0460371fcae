import { afterEach, describe, expect, test, vi } from "vitest";
import { until } from "../drain/support/client.ts";
import { servers } from "../support/postgres-control.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { installAt, type JobsPlace, placeAt } from "./support/jobs-place.ts";
import { accountOf, type Load, startLoad } from "./support/load.ts";
import { type Pair, startPair } from "./support/pair.ts";
import { startWorkerProcess, type WorkerProcess } from "./support/worker-process.ts";

const producers = 4;
const granted = 1_000_000;
const drivers = ["pg", "postgres"] as const;

/** Servers and processes start slowly on a busy machine. */
vi.setConfig({ testTimeout: 240_000 });

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function pairOf(options: Parameters<typeof startPair>[0]): Promise<Pair> {
  const pair = await startPair(options);
  closers.push(() => pair.stop());
  return pair;
}

async function placesOf(pair: Pair): Promise<{ before: JobsPlace; after: JobsPlace }> {
  const before = await installAt(pair.primaryUrl);
  const after = placeAt(pair.standbyUrl);
  closers.push(() => Promise.all([before.close(), after.close()]));
  return { before, after };
}

async function workersOf(urls: readonly (readonly [(typeof drivers)[number], string])[]) {
  const workers = urls.map(([driver, url]) =>
    startWorkerProcess({ driver, url, leaseMs: 5_000, work: { concurrency: 4, poll: 200 } }),
  );
  closers.push(() => Promise.all(workers.map((worker) => worker.kill())));
  const ready = () => workers.every((worker) => worker.toldOf("ready").length > 0);
  await until(ready, "all workers", 100_000);
  return workers;
}

/** Resolves when each worker has completed so many jobs more. */
async function moreOf(workers: readonly WorkerProcess[], count: number): Promise<void> {
  const goals = workers.map((worker) => worker.toldOf("completed").length + count);
  for (const [i, worker] of workers.entries()) {
    const reached = () => worker.toldOf("completed").length >= (goals[i] ?? 0);
    await until(reached, `${count} jobs more by worker ${i}`, 40_000);
  }
}

/** Between the last completion that a worker was answered before, and the first one after. */
function gapMs(worker: WorkerProcess, from: number): number {
  const times = worker.toldOf("completed").map(({ at }) => at);
  const last = times.findLast((at) => at < from) ?? from;
  const first = times.find((at) => at >= from) ?? Number.POSITIVE_INFINITY;
  return Math.round(first - last);
}

/** What must hold when every job has come to its end, whatever became of the primary. */
async function expectNothingLost(after: JobsPlace, { acknowledged }: Load): Promise<void> {
  const jobs = await after.query("select id, status, generation, money from leasehold.jobs");
  const ids = jobs.map(({ id }) => id).sort();
  expect(ids).toEqual([...acknowledged.values()].sort());
  expect(new Set(jobs.map(({ status, money }) => `${status}, ${money}`))).toEqual(
    new Set(["completed, captured"]),
  );
  const effects = await after.query("select job_id, generation from public.effects");
  const byClaim = (rows: Record<string, unknown>[], id: string) =>
    rows.map((row) => `${row[id]}.${row.generation}`).sort();
  expect(byClaim(effects, "job_id")).toEqual(byClaim(jobs, "id"));
  for (let i = 0; i < producers; i += 1) {
    const own = [...acknowledged.keys()].filter((name) => name.startsWith(`${i}-`)).length;
    const credits = await after.database.call("credits", { p_account: accountOf(i) });
    expect(credits).toMatchObject({ available: granted - own, held: 0 });
  }
  expect(await after.value("select leasehold.verify_credits()")).toMatchObject({ ok: true });
  expect(await after.value("select leasehold.verify()")).toMatchObject({ ok: true });
}

async function grantAll({ database }: JobsPlace): Promise<void> {
  for (let i = 0; i < producers; i += 1) {
    const p_account = accountOf(i);
    const p_reference = "the first";
    await database.call("grant_credits", { p_account, p_amount: granted, p_reference });
  }
}

describe.each(servers)("a synchronous standby of $name that takes over under load", (server) => {
  test("loses nothing that was acknowledged, does nothing twice, and the workers go on", async () => {
    const pair = await pairOf({ synchronous: true, programs: server.programs });
    const { before, after } = await placesOf(pair);
    await grantAll(before);
    const way = await startTcpProxy(pair.primaryUrl);
    closers.push(() => way.close());
    const workers = await workersOf(drivers.map((driver) => [driver, way.url]));
    const load = startLoad(way.url, producers);
    await moreOf(workers, 30);

    const killedAt = performance.now();
    await pair.killPrimary();
    await pair.promote();
    way.aim(pair.standbyUrl);
    const promotedMs = Math.round(performance.now() - killedAt);
    await moreOf(workers, 30);
    await load.stop();
    await after.finished();

    await expectNothingLost(after, load);
    // Enqueues were under way when it died: without any, this would have tested less.
    expect(load.tries).toBeGreaterThan(0);
    const gaps = workers.map((worker, i) => `${drivers[i]} ${gapMs(worker, killedAt)} ms`);
    // What a reader of the output may want to know; no duration is asserted.
    console.info(
      `${server.name}: promoted after ${promotedMs} ms; no job done: ${gaps.join(", ")}`,
    );
  });
});

test("a worker whose connection string names both servers goes on with the one that takes writes", async () => {
  const pair = await pairOf({ synchronous: true });
  const { before, after } = await placesOf(pair);
  await grantAll(before);
  // node-postgres knows one host alone.
  const { host, pathname } = new URL(pair.primaryUrl);
  const standby = new URL(pair.standbyUrl).host;
  const both = `postgres://postgres@${host},${standby}${pathname}?target_session_attrs=primary`;
  const workers = await workersOf([["postgres", both]]);
  const way = await startTcpProxy(pair.primaryUrl);
  closers.push(() => way.close());
  const load = startLoad(way.url, producers);
  await moreOf(workers, 30);

  await pair.killPrimary();
  await pair.promote();
  way.aim(pair.standbyUrl);
  await moreOf(workers, 30);
  await load.stop();
  await after.finished();
  await expectNothingLost(after, load);
});

test("an asynchronous standby that takes over can undo a claim, with all that was written under it", async () => {
  const pair = await pairOf({ synchronous: false });
  const { before, after } = await placesOf(pair);
  const { id } = (await before.database.call("enqueue", { p_kind: "mail" })) as { id: string };
  const there = `select count(*)::int from leasehold.jobs where id = '${id}'`;
  // The standby comes after: at first it may not even have the table.
  const arrived = async () => (await after.value(there).catch(() => 0)) === 1;
  await until(arrived, "the job on the standby");
  pair.withhold();
  expect(await claimBy(before)).toMatchObject([{ id, generation: 1, attempts: 1 }]);
  await writeUnder(before, id, 1);
  const key = await idempotencyKey(before, id);
  await pair.killPrimary();
  await pair.promote();

  // The claim never was, and the writes under guard went with it: the two agree.
  const [undone] = await after.query("select status, attempts, generation from leasehold.jobs");
  expect(undone).toEqual({ status: "queued", attempts: 0, generation: 0 });
  expect(await after.query("select * from public.effects")).toEqual([]);
  // Its generation is given out again: to the fence, the two who hold it are one.
  expect(await claimBy(after)).toMatchObject([{ id, generation: 1, attempts: 1 }]);
  expect(await idempotencyKey(after, id)).toBe(key);
  // So the outcome of the first stands for the second's claim, and the second is told nothing.
  expect(await complete(after, id, "of the first")).toBe(true);
  expect(await complete(after, id, "of the second")).toBe(true);
  expect(await after.value("select result from leasehold.jobs")).toBe("of the first");
  expect(await after.value("select leasehold.verify()")).toMatchObject({ ok: true });
});

const claimBy = ({ database }: JobsPlace) => database.call("claim", { p_kinds: ["mail"] });

const complete = ({ database }: JobsPlace, p_id: string, p_result: string) =>
  database.call("complete", { p_id, p_generation: 1, p_result });

function writeUnder({ database }: JobsPlace, id: string, generation: number): Promise<void> {
  return database.transaction(async ({ client, call }) => {
    await call("guard", { p_id: id, p_generation: generation });
    const { query } = client as { query(text: string, values: unknown[]): Promise<unknown> };
    await query.call(client, "insert into public.effects values ($1, $2)", [id, generation]);
  });
}

/** As `job.idempotencyKey()` makes it. */
async function idempotencyKey({ query }: JobsPlace, id: string): Promise<string> {
  const [job] = await query("select id || ':' || run as key from leasehold.jobs where id = $1", [
    id,
  ]);
  return job?.key;
}
