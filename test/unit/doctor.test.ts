import { describe, expect, it } from "vitest";
import type { DatabaseFacts, Facts } from "../../src/cli/doctor/facts.ts";
import { judge } from "../../src/cli/doctor/judge.ts";

const at = "2030-01-01T12:00:00.000000Z";
const minute = 60_000;

const sound: DatabaseFacts = {
  at,
  server: {
    ...{ version: 180_004, in_recovery: false, max_connections: 100, connections: 20 },
    autovacuum: true,
  },
  session: {
    ...{ role: "app", statement_timeout_ms: 0, idle_session_timeout_ms: 0 },
    ...{ idle_in_transaction_session_timeout_ms: 0, transaction_timeout_ms: 0 },
    ...{ read_only: false, isolation: "read committed", synchronous_commit: true },
    ...{ limit: null, used: null },
  },
  schema: { version: 5, checksum: "a", owner: "postgres", service_role: null, unsound: [] },
  exposed: null,
  horizon: { transaction: null, prepared: null, slot: null, standby: null },
  tables: [
    { table: "jobs", live: 10, dead: 49_999, autovacuum_at: null, autovacuum_enabled: true },
  ],
  queue: { due: 5, running: 1, expired: 1, oldest_due_ms: 1000, oldest_expired_ms: 1000 },
  kinds: [
    {
      ...{ kind: "mail", paused_at: null, workers: 1, lease_ms: 100_000, run_p95_ms: 79_000 },
      sample: 200,
    },
  ],
  workers: { alive: 1, listening: 1 },
  drains: [],
  alerts: { open: 0, critical: 0 },
};

const well: Facts = {
  database: sound,
  own: { version: 5, checksum: "a" },
  schemaName: "leasehold",
  clock: { aheadMs: 1500, tripMs: 20 },
  notifications: "arrive",
  secretLength: 32,
  route: { url: "https://a.example/drain", status: 401, location: null, error: null },
};

/** Part by part over what is well. */
type Deep<T> = T extends object ? { [Key in keyof T]?: Deep<T[Key]> } : T;
function over<T>(base: T, change: Deep<T>): T {
  if (typeof change !== "object" || change === null || Array.isArray(change)) return change as T;
  const merged: Record<string, unknown> = { ...(base as object) };
  for (const [key, value] of Object.entries(change)) {
    merged[key] = over((base as Record<string, unknown> | null)?.[key], value as never);
  }
  return merged as T;
}

const findings = (change: Deep<Facts>) =>
  judge(over(well, change)).map(({ severity, check, finding, fix }) => {
    expect(fix.length).toBeGreaterThan(10);
    return `${severity} ${check}: ${finding}`;
  });
const inDatabase = (database: Deep<DatabaseFacts>) => findings({ database });
const kind = sound.kinds[0];
const route = (answer: Partial<NonNullable<Facts["route"]>>) =>
  findings({ route: { ...well.route, ...answer } as never });

describe("doctor", () => {
  it("finds nothing where all is well, or nothing is known", () => {
    expect(findings({})).toEqual([]);
    expect(findings({ route: null, secretLength: null, notifications: "none" })).toEqual([]);
    expect(inDatabase({ queue: { oldest_due_ms: null, oldest_expired_ms: null } })).toEqual([]);
    const long = { statement_timeout_ms: 10_000, idle_session_timeout_ms: 60_000 };
    expect(inDatabase({ session: { ...long, limit: 10, used: 7 } })).toEqual([]);
  });

  it.each<[string, string[]]>([
    [
      "critical server: PostgreSQL 14 is older than what leasehold runs on",
      inDatabase({ server: { version: 140_009 } }),
    ],
    ["critical server: This is a standby", inDatabase({ server: { in_recovery: true } })],
    [
      "critical connection: Transactions of app are read-only by default: nothing can be enqueued or claimed",
      inDatabase({ session: { read_only: true } }),
    ],
    [
      "warning connection: Transactions of app are serializable by default, where a race is an error (40001)",
      inDatabase({ session: { isolation: "serializable" } }),
    ],
    [
      "warning connection: synchronous_commit is off for app: a crash of the server loses jobs that were acknowledged",
      inDatabase({ session: { synchronous_commit: false } }),
    ],
    [
      "warning connection: statement_timeout is 8s for app: what has much to do, or to wait for, is cut",
      inDatabase({ session: { statement_timeout_ms: 8_000 } }),
    ],
    [
      "warning connection: idle_session_timeout is 30s for app: the connections of idle workers are cut",
      inDatabase({ session: { idle_session_timeout_ms: 30_000 } }),
    ],
    [
      "warning connection: transaction_timeout is 59s for app: handlers under job.transaction are cut",
      inDatabase({ session: { transaction_timeout_ms: 59_000 } }),
    ],
    [
      "info connection: A transaction of app that is idle for 5s is cut",
      inDatabase({ session: { idle_in_transaction_session_timeout_ms: 5_000 } }),
    ],
    [
      "warning connections: 8 of the 10 connections of app, or of its database, are in use",
      inDatabase({ session: { limit: 10, used: 8 } }),
    ],
    [
      "critical schema: The schema has version 4, this leasehold wants 5",
      inDatabase({ schema: { version: 4, checksum: "z" } }),
    ],
    [
      "critical schema: The schema has version 6, which is newer than this leasehold's 5",
      inDatabase({ schema: { version: 6, checksum: "z" } }),
    ],
    [
      "warning schema: The functions in the database are not those of this leasehold",
      inDatabase({ schema: { checksum: "z" } }),
    ],
    [
      "critical rights: claim is open to public, anon or authenticated, has no row level security, or can be shadowed",
      inDatabase({ schema: { unsound: [{ rule: "rights", id: "claim" }] } }),
    ],
    [
      "critical indexes: jobs_claim is an index that is not valid",
      inDatabase({ schema: { unsound: [{ rule: "indexes", id: "jobs_claim" }] } }),
    ],
    [
      "critical rights: service_role may not call every function",
      inDatabase({ schema: { service_role: false } }),
    ],
    [
      "info supabase: PostgREST does not serve the schema leasehold: supabase-js can't reach it",
      inDatabase({ schema: { service_role: true }, exposed: ["public"] }),
    ],
    [
      "info clock: The database's clock is 2s ahead of this machine's",
      findings({ clock: { aheadMs: 2020, tripMs: 20 } }),
    ],
    [
      "warning clock: The database's clock is 30s behind this machine's",
      findings({ clock: { aheadMs: -30_020, tripMs: 20 } }),
    ],
    [
      "warning pooler: Notifications do not arrive: this is a transaction pooler, or something like it",
      findings({ notifications: "lost" }),
    ],
    [
      "warning work: The oldest due job waits for 5m",
      inDatabase({ queue: { oldest_due_ms: 5 * minute } }),
    ],
    [
      "critical work: The oldest due job waits for 5m, no worker is alive, and no drain was told of for an hour",
      inDatabase({
        queue: { oldest_due_ms: 5 * minute },
        workers: { alive: 0 },
        drains: [{ trigger: "cron", at: "2030-01-01T11:00:00.000000Z" }],
      }),
    ],
    [
      "warning work: The oldest due job waits for 5m",
      inDatabase({
        queue: { oldest_due_ms: 5 * minute },
        workers: { alive: 0 },
        drains: [{ trigger: "cron", at: "2030-01-01T11:00:01.000000Z" }],
      }),
    ],
    [
      "warning leases: mail: 95 of 100 runs take up to 1m 20s of a lease of 1m 40s",
      inDatabase({ kinds: [{ ...kind, run_p95_ms: 80_000 }] as never }),
    ],
    [
      "warning leases: 1 jobs are past their lease, the oldest for 5m, and nobody has reaped them",
      inDatabase({ queue: { oldest_expired_ms: 5 * minute } }),
    ],
    [
      "warning vacuum: An open transaction (pid 7, psql, idle in transaction) has kept dead rows from being cleaned up for 10m",
      inDatabase({
        horizon: {
          transaction: {
            ...{ name: "pid 7, psql, idle in transaction", age_ms: 10 * minute + 1, xids: 3 },
          },
        },
      }),
    ],
    [
      "critical vacuum: A prepared transaction (two) has kept dead rows from being cleaned up for 1h",
      inDatabase({ horizon: { prepared: { name: "two", age_ms: 60 * minute + 1, xids: null } } }),
    ],
    [
      "warning vacuum: A replication slot (old) has kept dead rows from being cleaned up for 1000001 transactions",
      inDatabase({ horizon: { slot: { name: "old", age_ms: null, xids: 1_000_001 } } }),
    ],
    ["warning vacuum: autovacuum is off for jobs", inDatabase({ server: { autovacuum: false } })],
    [
      "warning vacuum: jobs has 50000 dead rows to 10 living ones",
      inDatabase({ tables: [{ ...sound.tables[0], dead: 50_000 }] as never }),
    ],
    [
      "warning connections: 80 of 100 connections are in use",
      inDatabase({ server: { connections: 80 } }),
    ],
    [
      "warning route: CRON_SECRET has 15 characters, so the drain route is closed",
      findings({ secretLength: 15 }),
    ],
    [
      "critical route: https://a.example/drain can't be reached: ECONNREFUSED",
      route({ status: null, error: "ECONNREFUSED" }),
    ],
    [
      "critical route: https://a.example/drain redirects to /login",
      route({ status: 307, location: "/login" }),
    ],
    ["critical route: https://a.example/drain answers 202 to anybody", route({ status: 202 })],
    [
      "critical route: https://a.example/drain is closed: it knows no secret",
      route({ status: 403 }),
    ],
    ["critical route: https://a.example/drain answers 404", route({ status: 404 })],
    ["info alerts: 2 alerts are open", inDatabase({ alerts: { open: 2 } })],
    [
      "warning alerts: 2 alerts are open, 1 of them critical",
      inDatabase({ alerts: { open: 2, critical: 1 } }),
    ],
  ])("finds %s", (expected, found) => {
    expect(found).toEqual([expected]);
  });

  it("says nothing of a lease by a few runs, or where it is not known", () => {
    const few = { ...kind, run_p95_ms: 99_000, sample: 19 };
    const unknown = { ...kind, lease_ms: null, run_p95_ms: 99_000 };
    expect(inDatabase({ kinds: [few, unknown] as never })).toEqual([]);
  });

  it("tells the worst first", () => {
    const found = findings({
      clock: { aheadMs: 5000 },
      secretLength: 1,
      route: { status: 404 },
    });
    expect(found.map((line) => line.split(" ")[0])).toEqual(["critical", "warning", "info"]);
  });
});
