import type { Database } from "../../../src/database.ts";
import type { Handled } from "../../../src/define.ts";
import {
  createLeasehold,
  type Leasehold,
  type LeaseholdEvents,
  type LeaseholdOptions,
} from "../../../src/index.ts";
import { silentLogger } from "../../../src/logger.ts";
import type { TestDatabase } from "../../support/databases.ts";

type Told = {
  [Name in keyof LeaseholdEvents]: { name: Name; event: LeaseholdEvents[Name] };
}[keyof LeaseholdEvents];

/** A client that keeps what its events told, in their order. */
export interface TestClient extends Leasehold {
  readonly told: readonly Told[];
  /** The events of one name. */
  toldOf<Name extends keyof LeaseholdEvents>(name: Name): LeaseholdEvents[Name][];
}

const names = [
  "started",
  "completed",
  "failed",
  "released",
  "cancelled",
  "lost",
  "drained",
  "error",
] as const satisfies readonly (keyof LeaseholdEvents)[];

/** A client with these handlers, silent, whose events are kept. What it touches, a test calls for. */
export function client(database: Database, ...handlers: Handled[]): TestClient {
  return recorded({ database, handlers, housekeeping: false });
}

/** The same with any options. */
export function recorded(options: LeaseholdOptions): TestClient {
  const leasehold = createLeasehold({ logger: silentLogger, ...options });
  const told: Told[] = [];
  for (const name of names) {
    leasehold.on(name, (event) => told.push({ name, event } as Told));
  }
  const toldOf = (name: string) => told.filter((each) => each.name === name).map((e) => e.event);
  return Object.assign(leasehold, { told, toldOf }) as TestClient;
}

/** A promise to be settled from outside: how handlers and tests wait for each other. */
export interface Deferred<T = void> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
}

export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Resolves when the signal aborts, with its reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  if (signal.aborted) return Promise.resolve(signal.reason);
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
}

/** Asks every few milliseconds until the answer is truthy, and answers it. */
export async function until<T>(
  ask: () => T | Promise<T>,
  what: string,
  withinMs = 20_000,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > end) throw new Error(`Not within ${withinMs / 1_000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

type Readable = Pick<TestDatabase, "query" | "quotedSchema">;

/** The whole row of a job. Throws where there is none. */
// biome-ignore lint/suspicious/noExplicitAny: a row of the table.
export async function rowOf(db: Readable, id: string): Promise<Record<string, any>> {
  const [row] = await db.query(`select * from ${db.quotedSchema}.jobs where id = $1`, [id]);
  if (row === undefined) throw new Error(`There is no job ${id}`);
  return row;
}

/** What `job_events` tells of a job, in order. */
// biome-ignore lint/suspicious/noExplicitAny: rows of the table.
export function eventsOf(db: Readable, id: string): Promise<Record<string, any>[]> {
  return db.query(
    `select event, generation, code, message, detail from ${db.quotedSchema}.job_events
     where job_id = $1 order by id`,
    [id],
  );
}

/** How many jobs stand in each status. */
export async function counts(db: Readable): Promise<Record<string, number>> {
  const rows = await db.query(
    `select status, count(*)::int as count from ${db.quotedSchema}.jobs group by status`,
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}
