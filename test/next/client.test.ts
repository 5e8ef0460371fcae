import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { Leasehold } from "../../src/client.ts";
import { type Handled, silentLogger } from "../../src/index.ts";
import { counts, rowOf, until } from "../drain/support/client.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

let db: TestDatabase;
const open = new Set<Leasehold>();
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const client of open) await client.close();
  open.clear();
});
afterAll(() => db.close());

/** Evaluates the whole package anew, as a reload does, and makes the client of a module. */
async function evaluate(version: string, kinds: readonly string[] = ["job"]) {
  vi.resetModules();
  const { defineJob, handle } = await import("../../src/index.ts");
  const { pg } = await import("../../src/pg/index.ts");
  const { createLeasehold } = await import("../../src/next/index.ts");
  const handlers: Handled[] = kinds.map((kind) => handle(defineJob(kind), () => version));
  const database = pg({ connectionString: db.url, application_name: "reloads" });
  const leasehold = createLeasehold({ database, handlers, logger: silentLogger });
  open.add(leasehold);
  const job = defineJob(kinds.at(-1) ?? "");
  return { leasehold, job };
}

async function resultOf(id: string): Promise<unknown> {
  await until(async () => (await rowOf(db, id)).finished_at !== null, "the end of the job");
  return (await rowOf(db, id)).result;
}

test("twenty evaluations make one pool and one worker, and the newest code runs (S34)", async () => {
  for (let i = 1; i <= 20; i += 1) {
    const { leasehold, job } = await evaluate(`version ${i}`);
    leasehold.work();
    const { id } = (await leasehold.enqueue(job)) as { id: string };
    expect(await resultOf(id)).toBe(`version ${i}`);
  }
  const [row] = await db.query(
    "select count(*)::int as count from pg_stat_activity where application_name = 'reloads'",
  );
  expect(row?.count).toBeLessThanOrEqual(5);
  expect(await db.query(`select from ${db.quotedSchema}.workers`)).toHaveLength(1);
  expect(open.size).toBe(1);
});

test("while developing, a running worker takes on a kind that an edit has added", async () => {
  const first = await evaluate("version 1");
  first.leasehold.work();
  const { leasehold, job } = await evaluate("version 2", ["job", "added"]);
  const { id } = (await leasehold.enqueue(job)) as { id: string };
  expect(await rowOf(db, id)).toMatchObject({ kind: "added" });
  expect(await resultOf(id)).toBe("version 2");
});

test("in production a later evaluation gets the client that there is, with its own handlers", async () => {
  vi.stubEnv("NODE_ENV", "production");
  const first = await evaluate("instrumentation");
  const second = await evaluate("route");
  expect(second.leasehold).toBe(first.leasehold);
  const started = await second.leasehold.start(second.job);
  if (started.outcome !== "created") throw new Error(started.outcome);
  expect(await resultOf(started.id)).toBe("instrumentation");
});

test("in production another client needs another name", async () => {
  vi.stubEnv("NODE_ENV", "production");
  await evaluate("version 1");
  await expect(evaluate("version 1", ["other"])).rejects.toMatchObject({ code: "LH002" });
});

test("close gives the name away, and a worker that has stopped is no longer answered", async () => {
  const first = await evaluate("version 1");
  const worker = first.leasehold.work();
  expect(first.leasehold.work()).toBe(worker);
  await worker.stop();
  expect(first.leasehold.work()).not.toBe(worker);
  await first.leasehold.close();
  const second = await evaluate("version 1");
  expect(second.leasehold).not.toBe(first.leasehold);
  await second.leasehold.enqueue(second.job);
  expect(await counts(db)).toEqual({ queued: 1 });
});

test("a start that raises on Vercel has written nothing", async () => {
  vi.stubEnv("VERCEL", "1");
  const { leasehold, job } = await evaluate("version 1");
  await expect(leasehold.start(job)).rejects.toMatchObject({ code: "LH109" });
  expect(await counts(db)).toEqual({});
});
