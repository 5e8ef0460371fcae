import { afterAll, beforeAll, beforeEach } from "vitest";
import { age } from "../../support/ageing.ts";
import {
  type Backend,
  openTestDatabase,
  type Queryable,
  type TestDatabase,
  type TestDatabaseOptions,
} from "../../support/databases.ts";

export type Value = Awaited<ReturnType<Queryable["value"]>>;
export type Row = Awaited<ReturnType<Queryable["query"]>>[number];

/** Calls of the SQL functions over one connection, and looks at what they left in the tables. */
export interface Calls extends Queryable {
  /** `select leasehold.<name>($1, …)`: its value. Objects go as JSON; JSON arrays by `json`. */
  call(name: string, ...values: unknown[]): Promise<Value>;
  /** `select * from leasehold.<name>($1, …)`: its rows. */
  rows(name: string, ...values: unknown[]): Promise<Row[]>;
  /** Enqueues a job of kind "k" and answers its id. */
  enqueue(options?: object, payload?: unknown): Promise<string>;
  /**
   * Enqueues jobs of kind "k" in one call, so that their ids are in order, also within the millisecond
   * that PGlite's clock goes by; answers them newest first.
   */
  put(...jobs: object[]): Promise<string[]>;
  /** Enqueues and claims a job of kind "k", and answers its id: it is running as generation 1. */
  running(options?: object, leaseMs?: number, timeoutMs?: number): Promise<string>;
  /** The whole row; undefined where there is none. */
  job(id: string): Promise<Row>;
  /** What an act answers, and the columns of the job's row that it changed, as they are now. */
  changes(id: string, act: () => Promise<Value>): Promise<{ answer: Value; changed: Row }>;
  /** The job's events without their times, and without what is null. */
  events(id: string): Promise<Row[]>;
  /** An interval between two columns of the job, `lease_until - claimed_at` say, in milliseconds. */
  span(id: string, interval: string): Promise<number>;
  /** The number of rows, of jobs by default. */
  count(table?: string): Promise<number>;
}

/** The same over a whole test database. */
export interface Fixture extends Calls {
  /** The test database; open once the tests run. */
  readonly db: TestDatabase;
  /** Lets time pass for one job. */
  age(id: string, ms: number): Promise<void>;
  /**
   * Lends a connection of its own, for transactions and settings; PGlite lends its only one. What is
   * open is rolled back afterwards.
   */
  session(work: (session: Calls) => Promise<void>): Promise<void>;
}

export const json = (value: unknown): string => JSON.stringify(value);

/** Opens a database for the tests of this `describe`, and empties it before each. */
export function useDatabase(backend: Backend, options?: TestDatabaseOptions): Fixture {
  let db: TestDatabase;
  let empty: () => Promise<void>;
  beforeAll(async () => {
    db = await openTestDatabase(backend, options);
    empty = await emptier(db);
  });
  beforeEach(() => empty());
  afterAll(() => db?.close());
  const queries: Queryable = {
    query: (text, values) => db.query(text, values),
    value: (text, values) => db.value(text, values),
  };
  return {
    ...callsOf(queries, options?.schema),
    get db() {
      return db;
    },
    age: (id, ms) => age(db, id, ms),
    session: (work) => lend(db, work),
  };
}

/**
 * Deletes what a test left. For its few rows that takes a tenth of the time of `reset`, which
 * truncates; where the installation has rows of its own, only that puts them back.
 */
async function emptier(db: TestDatabase): Promise<() => Promise<void>> {
  const tables = await db.query(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname = $1 and tablename <> 'migrations'`,
    [db.schema],
  );
  const names: string[] = tables.map(({ name }) => name);
  const rows = names.map((name) => `select from ${name}`).join(" union all ");
  if ((await db.query(rows)).length > 0) return () => db.reset();
  const script = names.map((name) => `delete from ${name}`).join("; ");
  return async () => void (await db.query(script));
}

async function lend(db: TestDatabase, work: (session: Calls) => Promise<void>): Promise<void> {
  if (db.backend === "postgres") {
    const session = await db.connect();
    try {
      await work(callsOf(session, db.schema));
    } finally {
      await session.close();
    }
    return;
  }
  try {
    await work(callsOf(db, db.schema));
  } finally {
    await db.query("rollback");
    await db.query("discard all");
  }
}

/** Calls over what runs statements. */
export function callsOf(queries: Queryable, schemaName = "leasehold"): Calls {
  const { query, value } = queries;
  const schema = `"${schemaName.replaceAll('"', '""')}"`;
  const head = (name: string, count: number): string =>
    `${schema}.${name}(${Array.from({ length: count }, (_, i) => `$${i + 1}`).join(", ")})`;
  const rowOf = async (id: string): Promise<Row> =>
    (await query(`select * from ${schema}.jobs where id = $1`, [id]))[0] as Row;
  const call: Calls["call"] = (name, ...values) =>
    value(`select ${head(name, values.length)}`, values.map(encode));
  const rows: Calls["rows"] = (name, ...values) =>
    query(`select * from ${head(name, values.length)}`, values.map(encode));
  const enqueue: Calls["enqueue"] = async (options = {}, payload = {}) => {
    const answer = await call("enqueue", "k", json(payload), options);
    if (answer.id === null) throw new Error(`Nothing was enqueued: ${json(answer)}`);
    return answer.id;
  };
  const put: Calls["put"] = async (...jobs) =>
    (await call("enqueue_many", json(jobs.map((job) => ({ kind: "k", ...job })))))
      .map(({ id }: Row) => id)
      .reverse();
  return {
    query,
    value,
    call,
    rows,
    enqueue,
    put,
    async running(options, leaseMs = 60_000, timeoutMs = 3_600_000) {
      const id = await enqueue(options);
      const claimed = await rows("claim_job", id, leaseMs, "w", timeoutMs);
      if (claimed.length !== 1) throw new Error(`Job ${id} was not claimed`);
      return id;
    },
    job: rowOf,
    async changes(id, act) {
      const before = await rowOf(id);
      const answer = await act();
      const after = await rowOf(id);
      const changed = Object.entries(after).filter(
        ([column, v]) => json(v) !== json(before[column]),
      );
      return { answer, changed: Object.fromEntries(changed) };
    },
    events: (id) =>
      query(
        `select event, generation, code, message, detail from ${schema}.job_events
         where job_id = $1 order by id`,
        [id],
      ).then((found) => found.map(withoutNulls)),
    span: (id, interval) =>
      value(
        `select (extract(epoch from ${interval}) * 1000)::float8 from ${schema}.jobs where id = $1`,
        [id],
      ),
    count: (table = "jobs") => value(`select count(*) from ${schema}.${table}`),
  };
}

/** Arrays go as they are: for text[] and uuid[]. */
function encode(value: unknown): unknown {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && !(value instanceof Date) ? json(value) : value;
}

function withoutNulls(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}
