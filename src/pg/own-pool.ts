import { installed, optionalPackageError } from "../optional-package.ts";
import { type Share, share } from "../shared.ts";
import type { PgPoolLike } from "./like.ts";

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

interface OwnPool extends PgPoolLike {
  end(): Promise<void>;
}

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
  return share<OwnPool>(
    poolKey(all),
    async () => new Pool(all),
    (pool) => pool.end(),
  );
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
