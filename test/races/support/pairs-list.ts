/** The tables whose rows two calls can meet on. Events and entries are only ever added to. */
export type Table =
  | "jobs"
  | "once"
  | "steps"
  | "holds"
  | "accounts"
  | "kinds"
  | "workers"
  | "cache"
  | "ticks"
  | "alerts"
  | "drains";

/**
 * How a function takes a row:
 * - `waits`: for no key update, or by an update; waits for whoever has it
 * - `skips`: for no key update; leaves what somebody else has
 * - `removes`: for update, or by a delete; waits
 * - `sweeps`: for update; leaves what somebody else has
 * - `adds`: under a unique key; waits for whoever is about to add or to end the same
 * - `asks`: reads it without a lock, and decides by what it has read
 * - `follows`: only under the lock of the job that it belongs to
 */
export type Taking = "waits" | "skips" | "removes" | "sweeps" | "adds" | "asks" | "follows";

/** Where a job can be when a call comes. */
export type State = "none" | "queued" | "running" | "expired" | "finished";

export interface Entry {
  takes: Partial<Record<Table, Taking[]>>;
  /** Where the function does something to a job, or locks it to find that there is nothing to do. */
  at: State[];
}

const queued: State[] = ["queued"];
const running: State[] = ["running", "expired"];
const orphaned: State[] = ["queued", "expired"];
const stored: State[] = ["queued", "running", "expired", "finished"];
const anywhere: State[] = ["none", ...stored];

/** What ends an attempt may have to do beside it: a look at a ledger that it enqueues is its own. */
const outcome: Entry["takes"] = {
  jobs: ["waits", "follows"],
  holds: ["follows"],
  accounts: ["waits"],
  steps: ["follows"],
  alerts: ["follows"],
};
/** What a reap may have to do, whoever reaps. */
const reaping: Entry["takes"] = {
  ...outcome,
  jobs: ["skips", "follows"],
  accounts: ["skips"],
};

/** Every function that writes or locks a row: which rows, and how. */
export const writers: Record<string, Entry> = {
  // Begins
  enqueue: {
    takes: {
      once: ["adds", "waits", "removes"],
      jobs: ["adds", "asks", "skips", "waits"],
      holds: ["follows"],
      accounts: ["waits", "skips"],
      steps: ["follows"],
      kinds: ["asks"],
    },
    at: anywhere,
  },
  enqueue_many: {
    takes: {
      once: ["adds", "waits", "removes"],
      jobs: ["adds", "asks", "skips", "waits"],
      holds: ["follows"],
      accounts: ["waits"],
      steps: ["follows"],
      kinds: ["asks"],
    },
    at: anywhere,
  },
  retry: {
    takes: { jobs: ["waits", "adds"], holds: ["follows"], accounts: ["waits"] },
    at: stored,
  },
  retry_many: {
    takes: { jobs: ["waits", "adds"], holds: ["follows"], accounts: ["waits"] },
    at: ["finished"],
  },
  run_now: { takes: { jobs: ["waits"] }, at: queued },
  run_now_many: { takes: { jobs: ["waits"] }, at: stored },

  // Claims
  claim: { takes: { ...reaping, kinds: ["asks"] }, at: orphaned },
  claim_job: { takes: { ...reaping, kinds: ["asks"] }, at: orphaned },
  extend: { takes: { jobs: ["skips"] }, at: running },
  extend_many: { takes: { jobs: ["skips"] }, at: running },
  guard: { takes: { jobs: ["waits"] }, at: running },
  step_save: { takes: { jobs: ["waits"], steps: ["follows"] }, at: running },

  // Ends
  complete: {
    takes: { jobs: ["waits"], holds: ["follows"], steps: ["follows"], alerts: ["follows"] },
    at: running,
  },
  fail: { takes: outcome, at: running },
  release: { takes: outcome, at: running },
  finish_many: { takes: reaping, at: running },
  finish_and_claim: { takes: { ...reaping, kinds: ["asks"] }, at: ["queued", ...running] },
  worker_recover: { takes: reaping, at: running },
  reap: { takes: reaping, at: ["expired"] },
  status: { takes: { ...reaping, jobs: ["asks", "skips", "follows"] }, at: ["expired"] },
  cancel: { takes: { ...outcome, jobs: ["skips", "waits", "follows"] }, at: stored },
  cancel_many: { takes: outcome, at: stored },
  remove: { takes: { jobs: ["removes"], steps: ["follows"] }, at: stored },
  remove_many: { takes: { jobs: ["waits", "removes"], steps: ["follows"] }, at: ["finished"] },
  prune: {
    takes: { jobs: ["sweeps"], steps: ["follows"], once: ["sweeps"], cache: ["sweeps"] },
    at: ["finished"],
  },

  // Credits
  grant_credits: { takes: { accounts: ["adds", "waits"] }, at: [] },
  refund: { takes: { jobs: ["waits"], holds: ["follows"], accounts: ["waits"] }, at: stored },

  // Kinds, workers, cache, intervals, alerts
  define_kind: { takes: { kinds: ["adds", "waits"] }, at: [] },
  pause: { takes: { kinds: ["adds", "waits"] }, at: [] },
  resume: { takes: { kinds: ["waits"] }, at: [] },
  worker_beat: { takes: { workers: ["adds", "waits", "sweeps"] }, at: [] },
  worker_stop: { takes: { workers: ["removes", "sweeps"] }, at: [] },
  workers: { takes: { workers: ["sweeps"] }, at: [] },
  cache_begin: { takes: { cache: ["adds", "asks", "skips"] }, at: [] },
  cache_put: { takes: { cache: ["waits"] }, at: [] },
  cache_drop: { takes: { cache: ["removes"] }, at: [] },
  every: { takes: { ticks: ["adds", "skips"] }, at: [] },
  claim_alerts: { takes: { alerts: ["skips"] }, at: [] },
  finish_alerts: { takes: { alerts: ["waits"] }, at: [] },
  acknowledge_alerts: { takes: { alerts: ["waits"] }, at: [] },
  note_drain: { takes: { drains: ["adds", "waits", "sweeps"] }, at: [] },
};

/** Functions that neither write nor lock: each answers out of one snapshot. */
export const readers = [
  "accounts",
  "alerts",
  "counts",
  "credits",
  "doctor",
  "entries",
  "has_due_work",
  "holds",
  "inspect",
  "kinds",
  "list",
  "measures",
  "overview",
  "schema_version",
  "stats",
  "step_load",
  "step_names",
  "timings",
  "verify",
  "verify_credits",
  "worker_echo",
];

/** Whether a row is taken as such, and not merely read, or written under another's lock. */
export const isTaken = (how: Taking[] = []) =>
  how.some((taking) => taking !== "asks" && taking !== "follows");

/** The tables by whose rows two functions can meet: one of them takes a row, the other one as well, or asks. */
export function sharedTables(first: string, second: string): Table[] {
  const [one, two] = [writers[first]?.takes ?? {}, writers[second]?.takes ?? {}];
  const meets = (how: Taking[] = []) => how.some((taking) => taking !== "follows");
  return (Object.keys(one) as Table[]).filter((table) => isTaken(one[table]) && meets(two[table]));
}

/** The functions that can meet, the one that holds the row first: what has to be staged at the least. */
export function demandedPairs(): [string, string][] {
  const names = Object.keys(writers);
  return names
    .flatMap((first) => names.map((second): [string, string] => [first, second]))
    .filter(([first, second]) =>
      sharedTables(first, second).some((table) => together(first, second, table)),
    );
}

/** Whether there is a state of the job in which both take it; an account can be that of two jobs. */
function together(first: string, second: string, table: Table): boolean {
  if (table !== "jobs") return true;
  const other = writers[second]?.at ?? [];
  return (writers[first]?.at ?? []).some((state) => other.includes(state));
}
