import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { waitForLock } from "../../support/barrier.ts";
import {
  openTestDatabase,
  type Queryable,
  type Session,
  type TestDatabase,
} from "../../support/databases.ts";

export interface Race extends Queryable {
  /** The database from outside, in no transaction. */
  readonly db: TestDatabase;
  /** A connection that is closed after the test. */
  session(): Promise<Session>;
  pair(): Promise<[Session, Session]>;
  sessions(count: number): Promise<Session[]>;
  /** A connection on which whatever waits for a lock fails (55P03): for what must not wait. */
  impatient(): Promise<Session>;
  /** Starts what `rival` does, and comes back when it waits for a lock. */
  blocked<T>(rival: Session, act: (rival: Session) => Promise<T>): Promise<Blocked<T>>;
  /** The same for what may or may not wait: comes back when it does, or when it is over. */
  started<T>(rival: Session, act: (rival: Session) => Promise<T>): Promise<Blocked<T>>;
  /** Waits until `rival` waits for `holder`: where it waited for somebody else before. */
  waitsFor(rival: Session, holder: Session): Promise<void>;
  /** Asks until the answer is true. */
  until(text: string, values: unknown[]): Promise<void>;
  /** What each job has come to, in the order of creation. */
  stories(): Promise<string[]>;
  /** What one job has come to; undefined when it is gone. */
  story(id: string): Promise<string | undefined>;
}

export interface Blocked<T> {
  /** What it answered, once it was let go. */
  answer: Promise<T>;
}

/** A database for the races of one test file; emptied after each test, when it has been checked. */
export function openRace(): Race {
  let db: TestDatabase;
  const open: Session[] = [];
  const session = async () => {
    const opened = await db.connect();
    open.push(opened);
    return opened;
  };
  beforeAll(async () => {
    db = await openTestDatabase("postgres");
  });
  afterEach(async () => {
    // The oldest first: it holds what the others may be waiting for.
    for (const one of open.splice(0)) await one.close();
    try {
      await expectSound(db);
    } finally {
      await db.reset();
    }
  });
  afterAll(() => db.close());
  return {
    get db() {
      return db;
    },
    query: (text, values) => db.query(text, values),
    value: (text, values) => db.value(text, values),
    session,
    pair: async () => [await session(), await session()],
    sessions: (count) => Promise.all(Array.from({ length: count }, session)),
    async impatient() {
      const opened = await session();
      // Long enough for the short locks inside PostgreSQL, on a busy machine too.
      await opened.query("set lock_timeout = '1s'");
      return opened;
    },
    async blocked(rival, act) {
      const answer = act(rival);
      // Whoever awaits it later sees the error; until then it is not an unhandled one.
      answer.catch(() => undefined);
      await waitForLock(db, rival.pid);
      return { answer };
    },
    async started(rival, act) {
      let over = false;
      const end = () => {
        over = true;
      };
      const answer = act(rival);
      answer.then(end, end);
      const waits = "select wait_event_type = 'Lock' from pg_stat_activity where pid = $1";
      while (!over && !(await db.value(waits, [rival.pid]))) await pause();
      return { answer };
    },
    waitsFor: (rival, holder) =>
      until(db, "select $2::int = any (pg_blocking_pids($1))", [rival.pid, holder.pid]),
    until: (text, values) => until(db, text, values),
    stories: () => stories(db),
    story: async (id) => (await stories(db, id))[0],
  };
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 2));

async function until(db: Queryable, text: string, values: unknown[]): Promise<void> {
  const end = performance.now() + 10_000;
  while ((await db.value(text, values)) !== true) {
    if (performance.now() > end) throw new Error(`Not true within 10 s: ${text} (${values})`);
    await pause();
  }
}

/**
 * Whole rows in one line each, to be compared at once: "k failed 1/1 g1 r1 LEASE_EXPIRED | reaped"
 * is the job of key k, failed with 1 of 1 attempts, generation 1, run 1, its code and its events.
 */
async function stories(db: Queryable, id: string | null = null): Promise<string[]> {
  const rows = await db.query(
    `select concat_ws(' ', coalesce(j.key, '-'), j.status, j.attempts || '/' || j.max_attempts,
         'g' || j.generation, 'r' || j.run, j.last_error_code,
         case when j.cancel_requested_at is not null then 'cancelling' end,
         'result=' || (j.result #>> '{}'), 'rerun=' || (j.rerun #>> '{}'),
         '| ' || (select string_agg(concat_ws(' ', e.event, e.detail ->> 'action'), ', ' order by e.id)
           from leasehold.job_events e where e.job_id = j.id)) as story
     from leasehold.jobs j where $1::uuid is null or j.id = $1::uuid order by j.id`,
    [id],
  );
  return rows.map((row) => row.story);
}

/** What must hold after every race, whoever won it. */
async function expectSound(db: Queryable): Promise<void> {
  expect(await faultsOf(db)).toEqual([]);
}

/** What is wrong with the rows in a database, whatever has happened in it. */
export function faultsOf(db: Queryable): Promise<Record<string, unknown>[]> {
  return db.query(
    `select 'two unfinished jobs of one key' as fault, kind || ' ' || key as what from leasehold.jobs
       where status in ('queued', 'running') and key is not null group by kind, key having count(*) > 1
     union all
     select 'a name that no job was enqueued under', once from leasehold.once where job_id is null
     union all
     select 'a job of a claim that has no times', id::text from leasehold.jobs
       where status = 'running' and (claimed_at is null or timeout_at is null or lease_until > timeout_at)
     union all
     select 'a finished job that runs on', id::text from leasehold.jobs
       where status in ('completed', 'failed', 'cancelled') and (rerun is not null or lease_until is not null)
     union all
     select 'a failed job without a code', id::text from leasehold.jobs
       where status = 'failed' and last_error_code is null
     union all
     select 'a job reaped twice under one claim', job_id::text from leasehold.job_events
       where event = 'reaped' and code in ('LEASE_EXPIRED', 'TIMEOUT') group by job_id, generation having count(*) > 1`,
  );
}
