import { age, ageAll } from "../../support/ageing.ts";
import type { TestDatabase } from "../../support/databases.ts";
import { call, claim, claimJob, complete, enqueue, fail } from "./calls.ts";
import type { State } from "./pairs-list.ts";

/** What the ids that the library gives are called in all worlds, so that calls are texts. */
export const JOB = "00000000-0000-7000-8000-00000000000a";
/** The job that stands beside it in some worlds. */
export const OTHER = "00000000-0000-7000-8000-00000000000b";
export const LOOK = "00000000-0000-7000-8000-00000000000c";
export const TOKEN = "00000000-0000-4000-8000-00000000000d";
export const WORKER = "00000000-0000-4000-8000-00000000000e";

/** Which calls come in a world: about one job, about a look at a ledger, about all that is no job. */
export type Room = "job" | "look" | "thing";

/** What two calls start from. Ann has 10 credits in it, before a job takes its 3. */
export interface World {
  name: string;
  room: Room;
  /** The state of the job `JOB` in the words of the list; of a look, that of the look. */
  state: State;
  /** Answers the name of each id. */
  build: (db: TestDatabase) => Promise<Map<string, string>>;
}

const paid = { cost: 3, account: "ann" };
const minutes = (count: number) => count * 60_000;

/** Enqueues the job, claims it where asked, and does what else there is to do to it. */
const job =
  (options: object, act?: (db: TestDatabase, id: string) => Promise<unknown>): World["build"] =>
  async (db) => {
    const { id } = await enqueue(db, { key: "k", ...options });
    await act?.(db, id);
    return new Map([[id, JOB]]);
  };

const claimed = async (db: TestDatabase, id: string) => {
  await call(db, "claim_job", id, null, "w");
  await call(db, "step_save", id, 1, "search", JSON.stringify("found"));
};
const abandoned = async (db: TestDatabase, id: string) => {
  await claimed(db, id);
  await age(db, id, minutes(10));
};
const ended =
  (end: (db: TestDatabase, claim: { id: string; generation: number }) => Promise<unknown>) =>
  async (db: TestDatabase, id: string) => {
    await claimed(db, id);
    await end(db, { id, generation: 1 });
  };
const broken = ended((db, claim) => fail(db, claim, true));
const cancelling = async (db: TestDatabase, id: string) => {
  await claimed(db, id);
  await call(db, "cancel", id);
};
/** A job whose cancel was requested, and a failed one that was paid by the same account. */
const besideFailed: World["build"] = async (db) => {
  const other = await enqueue(db, { key: "l", ...paid });
  await broken(db, other.id);
  return (await job(paid, cancelling)(db)).set(other.id, OTHER);
};
const again = async (db: TestDatabase, id: string) => {
  await claimed(db, id);
  await enqueue(db, { key: "k", on_conflict: "rerun" }, "again");
};
const late = (db: TestDatabase, id: string) => age(db, id, minutes(10));

/** A failed job whose key a job has that anyone may reap. */
const besideOrphan: World["build"] = async (db) => {
  const names = await job(paid, broken)(db);
  const { id } = await enqueue(db, { key: "k", max_attempts: 1, cost: 2, account: "bob" });
  await claimJob(db, id);
  await age(db, id, minutes(10));
  return names.set(id, OTHER);
};

/** A job that charges a ledger elsewhere has failed, and its look is as `act` leaves it. */
const look =
  (
    act?: (db: TestDatabase, look: { id: string; generation: number }) => Promise<unknown>,
  ): World["build"] =>
  async (db) => {
    const names = await job({ external: true, max_attempts: 1 }, broken)(db);
    await ageAll(db, "jobs", minutes(70));
    const id = await db.value("select id from leasehold.jobs where kind = 'leasehold.reconcile'");
    if (act) await claim(db, 1, { kinds: ["leasehold.reconcile"], leaseMs: minutes(5) });
    await act?.(db, { id, generation: 1 });
    return names.set(id, LOOK);
  };
const lookOver = async (db: TestDatabase, { id }: { id: string }) => {
  await db.query("update leasehold.jobs set attempts = max_attempts where id = $1", [id]);
  await age(db, id, minutes(10));
};

const things: World["build"] = async (db) => {
  const { token } = await call(db, "cache_begin", "tile", minutes(5));
  await call(db, "define_kind", "mail", { lease_ms: minutes(4) });
  await call(db, "pause", "mail");
  const state = { name: "w", kinds: ["mail"], concurrency: 1, idle: false, listening: false };
  await call(db, "worker_beat", WORKER, { ...state, ttl_ms: minutes(60) });
  await call(db, "every", "sweep", 1000);
  const { id } = await enqueue(db, { once: "o" });
  await db.query(
    `insert into leasehold.alerts (at, severity, code, message)
     values (clock_timestamp(), 'warning', 'RELEASED_TEN_TIMES', 'look')`,
  );
  await call(db, "note_drain", "cron", {});
  return new Map([
    [token, TOKEN],
    [id, JOB],
  ]);
};

/** The fill, the worker, the name and the value are over; the kind runs, and somebody tells the alert. */
const stale: World["build"] = async (db) => {
  const names = await things(db);
  await call(db, "resume", "mail");
  await call(db, "claim_alerts", 10, minutes(60));
  for (const table of ["cache", "workers", "once", "ticks"]) {
    await ageAll(db, table, minutes(60 * 24 * 40));
  }
  return names;
};

/** The fill has stored its value. */
const filled: World["build"] = async (db) => {
  const names = await things(db);
  await call(db, "cache_put", "tile", [...names.keys()][0], JSON.stringify("value"), minutes(60));
  return names;
};

const spent = (act: (db: TestDatabase, id: string) => Promise<unknown>) =>
  job({ ...paid, max_attempts: 1 }, act);

export const worlds: World[] = [
  { name: "nothing", room: "job", state: "none", build: async () => new Map() },
  { name: "queued", room: "job", state: "queued", build: job({}) },
  { name: "queued, paid", room: "job", state: "queued", build: job(paid) },
  {
    name: "queued past its start_by, paid",
    room: "job",
    state: "expired",
    build: job({ ...paid, start_within_ms: minutes(5) }, late),
  },
  { name: "running", room: "job", state: "running", build: job({}, claimed) },
  { name: "running for the last time, paid", room: "job", state: "running", build: spent(claimed) },
  {
    name: "running, a cancel requested, paid",
    room: "job",
    state: "running",
    build: besideFailed,
  },
  { name: "running, a rerun pending", room: "job", state: "running", build: job({}, again) },
  {
    name: "running, charges elsewhere",
    room: "job",
    state: "running",
    build: job({ external: true, max_attempts: 1 }, claimed),
  },
  { name: "expired", room: "job", state: "expired", build: job({}, abandoned) },
  {
    name: "expired for the last time, paid",
    room: "job",
    state: "expired",
    build: spent(abandoned),
  },
  { name: "failed, paid", room: "job", state: "finished", build: job(paid, broken) },
  { name: "failed, beside an orphan", room: "job", state: "finished", build: besideOrphan },
  {
    name: "cancelled",
    room: "job",
    state: "finished",
    build: job({}, (db, id) => call(db, "cancel", id)),
  },
  { name: "completed, paid", room: "job", state: "finished", build: job(paid, ended(complete)) },
  { name: "a look, queued", room: "look", state: "queued", build: look() },
  { name: "a look, running", room: "look", state: "running", build: look(async () => undefined) },
  {
    name: "a look, expired for the last time",
    room: "look",
    state: "expired",
    build: look(lookOver),
  },
  {
    name: "a look that failed",
    room: "look",
    state: "finished",
    build: look((db, one) => fail(db, one, true)),
  },
  { name: "no things", room: "thing", state: "none", build: async () => new Map() },
  { name: "things", room: "thing", state: "none", build: things },
  { name: "things, a value stored", room: "thing", state: "none", build: filled },
  { name: "things whose time is over", room: "thing", state: "none", build: stale },
];

/** Builds a world in an empty database, two minutes ago. */
export async function buildWorld(db: TestDatabase, world: World): Promise<Map<string, string>> {
  if (world.name !== "nothing" && world.name !== "no things") {
    await call(db, "grant_credits", "ann", 10, "first");
    await call(db, "grant_credits", "bob", 10, "first");
  }
  const names = await world.build(db);
  for (const table of [
    "jobs",
    "once",
    "steps",
    "holds",
    "kinds",
    "workers",
    "cache",
    "ticks",
    "alerts",
    "drains",
  ]) {
    await ageAll(db, table, minutes(2));
  }
  return names;
}
