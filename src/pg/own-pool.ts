import { settledWithin } from "../in-time.ts";
import { installed, optionalPackageError } from "../optional-package.ts";
import { type Share, share } from "../shared.ts";
import type { PgClientLike, PgPoolLike } from "./like.ts";

/**
 * What `pg()` takes in place of a pool: node-postgres' own options. Those that leasehold sets
 * itself unless told otherwise:
 */
export interface PgOptions {
  /** `postgres://user:password@host:port/database`; what it names wins over the other options. */
  connectionString?: string;
  /** Connections at most, 4 by default: calls are short, and serverless instances are many. */
  max?: number;
  /** As it shows in `pg_stat_activity`, "leasehold" by default. */
  application_name?: string;
  /** TCP keep-alive, on by default. */
  keepAlive?: boolean;
  /** Milliseconds to wait for a connection before a call fails, 30,000 by default. */
  connectionTimeoutMillis?: number;
  /** Whether idle connections let the process end without `close()`, true by default. */
  allowExitOnIdle?: boolean;
  [option: string]: unknown;
}

interface OwnPool {
  readonly pool: PgPoolLike & { end(): Promise<void> };
  /** Those that are connected. */
  readonly clients: ReadonlySet<PgClientLike>;
}

/** What is under way when the pool is closed may go on for so long. */
const closeWithinMs = 5_000;

const defaults: PgOptions = {
  max: 4,
  application_name: "leasehold",
  keepAlive: true,
  connectionTimeoutMillis: 30_000,
  allowExitOnIdle: true,
};

/**
 * Opens a pool of its own; within one process, equal options share one. Throws LH106 when
 * node-postgres is not installed.
 */
export async function openPool(options: PgOptions): Promise<Share<PgPoolLike>> {
  const { Pool } = await loadDriver();
  const all = { ...defaults, ...options };
  const { value, release } = await share(poolKey(all), async () => open(new Pool(all)), close);
  return { value: value.pool, release };
}

function open(pool: import("pg").Pool): OwnPool {
  const clients = new Set<PgClientLike>();
  pool.on("connect", (client) => clients.add(client));
  pool.on("remove", (client) => clients.delete(client));
  return { pool, clients };
}

/**
 * node-postgres waits for every client that is checked out, for ever: one on a connection that fell
 * silent, or in the hands of a function that never returns, would keep its caller from ending.
 */
async function close({ pool, clients }: OwnPool): Promise<void> {
  await settledWithin(pool.end(), closeWithinMs);
  for (const { connection } of clients) connection?.stream?.destroy?.();
}

async function loadDriver(): Promise<Pick<typeof import("pg"), "Pool">> {
  try {
    // CommonJS until 8.15: there the names hang on the default export alone.
    const { Pool } = (await import("pg")).default;
    return { Pool: installed("pg", Pool) };
  } catch (error) {
    throw optionalPackageError("pg", error);
  }
}

/** Options that JSON can't tell apart (a password callback, a TLS context) are never shared. */
function poolKey(options: PgOptions): string {
  const plain = Object.values(options).every(
    (value) =>
      value === null || ["string", "number", "boolean", "undefined"].includes(typeof value),
  );
  const own = plain ? JSON.stringify(Object.entries(options).sort()) : crypto.randomUUID();
  return `pg:${own}`;
}
