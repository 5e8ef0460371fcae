import { afterAll, afterEach, beforeAll, beforeEach, test } from "vitest";
import type { Arguments, Database, ListenHooks, Listening } from "../../../src/database.ts";
import type { FunctionName } from "../../../src/functions.ts";
import type { Leasehold, WorkOptions } from "../../../src/index.ts";
import type { Worker } from "../../../src/worker.ts";
import { counts, until } from "../../drain/support/client.ts";
import { type Backend, openTestDatabase, type TestDatabase } from "../../support/databases.ts";

export interface Workplace {
  readonly db: TestDatabase;
  /** Starts a worker, which is stopped after the test. It leaves the signals of this process alone. */
  work(leasehold: Leasehold, options?: WorkOptions): Worker;
  /** The same, and waits until it has looked, found nothing and said so. */
  idle(leasehold: Leasehold, options?: WorkOptions): Promise<Worker>;
  /** Waits until so many jobs are completed. */
  completed(count: number): Promise<void>;
}

/** A database for the tests of this block, one after the other. */
export function workplace(backend: Backend): Workplace {
  let db: TestDatabase | undefined;
  const opened = (): TestDatabase => {
    if (db === undefined) throw new Error("The database opens before the first test, not sooner");
    return db;
  };
  const { place, stopAll } = placeOn(opened);
  beforeAll(async () => {
    db = await openQuietly(backend);
  });
  beforeEach(() => db?.reset());
  afterEach(stopAll);
  afterAll(() => db?.close());
  return place;
}

/** A test with a database of its own, so that it can wait while others do. */
export function testApart(
  backend: Backend,
  name: string,
  run: (place: Workplace) => Promise<void>,
): void {
  test.concurrent(name, async () => {
    const db = await openQuietly(backend);
    const { place, stopAll } = placeOn(() => db);
    try {
      await run(place);
    } finally {
      await stopAll();
      await db.close();
    }
  });
}

/** A pool whose connections are ended from outside tells nobody but us. */
async function openQuietly(backend: Backend): Promise<TestDatabase> {
  const db = await openTestDatabase(backend);
  if (backend === "postgres") db.pool.on("error", () => undefined);
  return db;
}

function placeOn(db: () => TestDatabase): { place: Workplace; stopAll(): Promise<void> } {
  const workers: Worker[] = [];
  const work: Workplace["work"] = (leasehold, options = {}) => {
    const worker = leasehold.work({ signals: false, ...options });
    workers.push(worker);
    return worker;
  };
  const place: Workplace = {
    get db() {
      return db();
    },
    work,
    async idle(leasehold, options) {
      const worker = work(leasehold, options);
      await until(() => options?.listen === false || worker.health().listening, "listening");
      await until(async () => (await rowOfWorker(db(), worker))?.idle, "idle", 10_000);
      return worker;
    },
    async completed(count) {
      const done = async () => (await counts(db())).completed === count;
      await until(done, `${count} jobs completed`);
    },
  };
  const stopAll = async (): Promise<void> => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop({ grace: 0 })));
  };
  return { place, stopAll };
}

/** The row of a worker in the table `workers`; undefined where there is none. */
// biome-ignore lint/suspicious/noExplicitAny: a row of the table.
export async function rowOfWorker(db: TestDatabase, { id }: Worker): Promise<any> {
  const [row] = await db.query(`select * from ${db.quotedSchema}.workers where id = $1`, [id]);
  return row;
}

/** No poll within the time of a test: only a notification, or what the worker knows, can wake it. */
export const never = { poll: "1h", idlePoll: "1h" } as const;

export interface SeenCall {
  readonly name: FunctionName;
  readonly args: Arguments;
  /** Of the pool, or the connection that listens. */
  readonly by: "pool" | "listener";
  /** By `performance.now()`. */
  readonly at: number;
}

/** The database, and every call that is made of it or of its listening connection. */
export function watched(database: Database): Database & { readonly seen: SeenCall[] } {
  const seen: SeenCall[] = [];
  const note = (by: SeenCall["by"], call: Database["call"]): Database["call"] => {
    return (name, args) => {
      seen.push({ name, args, by, at: performance.now() });
      return call(name, args);
    };
  };
  return {
    ...database,
    seen,
    call: note("pool", database.call),
    async listen(hooks: ListenHooks): Promise<Listening | null> {
      const listening = (await database.listen?.(hooks)) ?? null;
      return listening && { ...listening, call: note("listener", listening.call) };
    },
  };
}

/** How many calls of this name were seen. */
export function countOf({ seen }: { seen: readonly SeenCall[] }, name: FunctionName): number {
  return seen.filter((call) => call.name === name).length;
}

/** Resolves after `ms`, for tests that something does not happen meanwhile. */
export function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The id of a job that `enqueue` created. */
export function idOf(
  answer: { outcome: string; id?: string | null | undefined } | undefined,
): string {
  if (typeof answer?.id !== "string") throw new Error(`No id in ${JSON.stringify(answer)}`);
  return answer.id;
}

/** How long `work` took, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
