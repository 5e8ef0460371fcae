import { Deferred } from "../../background.ts";
import { inTime } from "../../in-time.ts";
import type { FullDatabase } from "../../lazy-database.ts";
import { schemaChecksum, schemaVersion } from "../../schema/render.ts";
import type { DatabaseFacts, Facts, RouteAnswer } from "./facts.ts";

/** How long a notification, or an answer of the route, may take. */
const withinMs = 5_000;

export interface Asked {
  readonly database: FullDatabase;
  readonly schemaName: string;
  /** Where the drain route is; null: it is not asked. */
  readonly routeUrl: string | null;
  readonly secret: string | undefined;
}

/** Asks the database and what is around it. Rejects where the database can't be asked. */
export async function examine({ database, schemaName, routeUrl, secret }: Asked): Promise<Facts> {
  const version = (await database.call("schema_version", {})) as DatabaseFacts["schema"];
  // An older schema has no such function: that it is older is all that can be said then.
  const [facts, clock] =
    version.version < schemaVersion
      ? [olderSchema(version), { aheadMs: 0, tripMs: 0 }]
      : await timed(database);
  return {
    database: facts,
    own: { version: schemaVersion, checksum: schemaChecksum },
    schemaName,
    clock,
    notifications: await notificationsOf(database),
    secretLength: secret === undefined ? null : secret.length,
    route: routeUrl === null ? null : await askRoute(routeUrl),
  };
}

async function timed(database: FullDatabase): Promise<[DatabaseFacts, Facts["clock"]]> {
  const facts = (await database.call("doctor", {})) as DatabaseFacts;
  // By a call that takes no time of its own.
  const before = Date.now();
  const { at } = (await database.call("workers", {})) as { at: string };
  const after = Date.now();
  const aheadMs = Date.parse(at) - (before + after) / 2;
  return [facts, { aheadMs, tripMs: after - before }];
}

/** Whether what is notified through the pool comes to a connection that listens. */
async function notificationsOf(database: FullDatabase): Promise<Facts["notifications"]> {
  const token = crypto.randomUUID();
  const heard = new Deferred<void>();
  const onNotification = (payload: string) => {
    if (payload.includes(token)) heard.resolve();
  };
  const listening = await database
    .listen({ onNotification, onLost: () => undefined })
    .catch(() => null);
  if (listening === null) return "none";
  try {
    await database.call("worker_echo", { p_token: token });
    return await inTime(heard.promise, withinMs).then(
      () => "arrive",
      () => "lost",
    );
  } finally {
    await listening.close();
  }
}

/** As somebody without the secret; a redirect is not followed, since a cron would not. */
async function askRoute(url: string): Promise<RouteAnswer> {
  try {
    const answer = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(withinMs) });
    await answer.body?.cancel();
    return { url, status: answer.status, location: answer.headers.get("location"), error: null };
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } };
    return { url, status: null, location: null, error: cause?.code ?? message };
  }
}

function olderSchema(schema: { version: number; checksum: string }): DatabaseFacts {
  return {
    at: new Date().toISOString(),
    server: {
      version: 150_000,
      in_recovery: false,
      max_connections: 1,
      connections: 0,
      autovacuum: true,
    },
    session: {
      role: "",
      statement_timeout_ms: 0,
      idle_session_timeout_ms: 0,
      idle_in_transaction_session_timeout_ms: 0,
      transaction_timeout_ms: 0,
      read_only: false,
      isolation: "read committed",
      synchronous_commit: true,
      limit: null,
      used: null,
    },
    schema: { ...schema, owner: "", service_role: null, unsound: [] },
    exposed: null,
    horizon: { transaction: null, prepared: null, slot: null, standby: null },
    tables: [],
    queue: { due: 0, running: 0, expired: 0, oldest_due_ms: null, oldest_expired_ms: null },
    kinds: [],
    workers: { alive: 0, listening: 0 },
    drains: [],
    alerts: { open: 0, critical: 0 },
  };
}
