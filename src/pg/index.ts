import type { Database } from "../database.ts";
import { leaseholdError, show } from "../errors.ts";
import { lazyDatabase } from "../lazy-database.ts";
import type { PgPoolLike } from "./like.ts";
import { openPool, type PgOptions } from "./own-pool.ts";
import { poolDatabase } from "./pool-database.ts";

export type { PgClientLike, PgPoolLike, PgQuery, PgResult } from "./like.ts";
export type { PgOptions } from "./own-pool.ts";

/**
 * PostgreSQL through node-postgres.
 *
 * Takes a Pool, which stays the caller's and is never closed here; or a connection string or
 * node-postgres options, for which the package `pg` is loaded and a small pool opened at the first
 * call and closed by `close()`. Calls use unnamed statements and no session state, so transaction
 * poolers (PgBouncer, Supavisor) are safe.
 *
 * A single Client is refused: it runs one statement at a time, and calls would end up inside
 * whatever transaction the application has open on it. To enqueue in such a transaction, pass the
 * client as `{ tx }`.
 *
 * `schema` is the schema that `leasehold migrate` installed, "leasehold" by default. `listen` is the
 * connection string for the one connection that a worker listens on, where the pool goes through a
 * transaction pooler; false: workers only poll.
 *
 * Throws LH107 for anything else; the first call rejects with LH106 when `pg` is not installed.
 */
export function pg(
  poolOrOptions: PgPoolLike | PgOptions | string,
  { schema = "leasehold", listen }: { schema?: string; listen?: string | false } = {},
): Required<Database> {
  if (listen !== undefined && listen !== false) checkedUrl(listen);
  const own = { schema, listen };
  if (isPool(poolOrOptions)) return poolDatabase(poolOrOptions, own, async () => undefined);
  const options = optionsOf(poolOrOptions);
  return lazyDatabase(schema, async () => {
    const pool = await openPool(options);
    return poolDatabase(pool.value, own, pool.release);
  });
}

function isPool(value: unknown): value is PgPoolLike {
  if (typeof value !== "object" || value === null) return false;
  const { query, connect, release, escapeLiteral } = value as Record<string, unknown>;
  if (typeof query !== "function") return false;
  // Only a checked-out client has release, and only a client has escapeLiteral.
  if (typeof release === "function" || typeof escapeLiteral === "function") {
    throw notAccepted(
      "a single client",
      "Pass the Pool it comes from: one client can't serve calls that run at the same time. " +
        "To enqueue in a transaction of that client, pass the client as { tx }.",
    );
  }
  return typeof connect === "function";
}

function optionsOf(value: unknown): PgOptions {
  if (typeof value === "string") return { connectionString: checkedUrl(value) };
  const known = ["connectionString", "host", "port", "database", "user"];
  const isOptions =
    typeof value === "object" && value !== null && known.some((option) => option in value);
  if (!isOptions) {
    throw notAccepted(typeof value === "object" && value !== null ? "another object" : show(value));
  }
  const { connectionString } = value as PgOptions;
  if (typeof connectionString === "string") checkedUrl(connectionString);
  return value as PgOptions;
}

/** Never shown in full: it holds a password. A leading slash is a folder of Unix sockets. */
function checkedUrl(url: string): string {
  if (typeof url !== "string") throw notAccepted(show(url));
  if (/^(postgres|postgresql|socket):|^\//.test(url)) return url;
  throw notAccepted(`a string that begins with ${show(url.slice(0, url.indexOf(":") + 1))}`);
}

function notAccepted(given: string, hint?: string): Error {
  return leaseholdError(
    "LH107",
    `pg() was given ${given}`,
    hint ??
      "Pass a node-postgres Pool, a connection string that begins with postgres://, " +
        "or node-postgres options such as { connectionString }.",
  );
}
