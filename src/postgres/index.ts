import type { Database } from "../database.ts";
import { leaseholdError, show } from "../errors.ts";
import { type FullDatabase, lazyDatabase } from "../lazy-database.ts";
import { caller, callerBy } from "./caller.ts";
import type { PostgresLike } from "./like.ts";
import { openListener } from "./listen.ts";
import { openInstance, type PostgresOptions } from "./own-instance.ts";
import type { RenewedInstance } from "./renewed-instance.ts";
import { inTransaction } from "./transaction.ts";

export type {
  PostgresLike,
  PostgresQuery,
  PostgresQueryable,
  PostgresRows,
  PostgresStatement,
  PostgresTransactionLike,
} from "./like.ts";
export type { PostgresOptions } from "./own-instance.ts";

interface Own {
  schema: string;
  listen: string | false | undefined;
}

/**
 * PostgreSQL through postgres.js.
 *
 * Takes what `postgres(url)` of that package answers, which stays the caller's and is never closed
 * here; or a connection string or postgres.js options, for which the package `postgres` is loaded
 * and a small pool opened at the first call and closed by `close()`. Calls use unnamed statements
 * and no session state, so transaction poolers (PgBouncer, Supavisor) are safe. Transforms and type
 * parsers of the instance change no answer.
 *
 * A transaction's scoped `sql` and a reserved connection are refused: calls would end up inside that
 * transaction. To enqueue in it, pass it as `{ tx }`.
 *
 * `schema` is the schema that `leasehold migrate` installed, "leasehold" by default. `listen` is the
 * connection string for the one connection that a worker listens on, where the instance goes through
 * a transaction pooler; false: workers only poll.
 *
 * Throws LH107 for anything else; the first call rejects with LH106 when `postgres` is not
 * installed.
 */
export function postgres(
  sqlOrOptions: PostgresLike | PostgresOptions | string,
  { schema = "leasehold", listen }: { schema?: string; listen?: string | false } = {},
): Required<Database> {
  if (listen !== undefined && listen !== false) checkedUrl(listen);
  const own = { schema, listen };
  if (isInstance(sqlOrOptions)) return instanceDatabase(sqlOrOptions, own, async () => undefined);
  const options = optionsOf(sqlOrOptions);
  return lazyDatabase(schema, async () => {
    const instance = await openInstance(options);
    return ownDatabase(instance.value, own, instance.release);
  });
}

function instanceDatabase(
  sql: PostgresLike,
  { schema, listen }: Own,
  close: () => Promise<void>,
): FullDatabase {
  return {
    schema,
    call: caller(sql, schema),
    transaction: (work) => inTransaction(sql, schema, work),
    // Without parameters this is one simple query, and so one implicit transaction.
    script: async (text) => void (await sql.unsafe(text, [], { prepare: false, simple: true })),
    listen: async (hooks) => (listen === false ? null : openListener(sql, schema, listen, hooks)),
    close,
  };
}

function ownDatabase(
  instance: RenewedInstance,
  own: Own,
  close: () => Promise<void>,
): FullDatabase {
  const { schema } = own;
  return {
    schema,
    call: callerBy((make, name) => instance.run(make, name), schema),
    transaction: (work) => instance.transaction(schema, work),
    script: (text) => instanceDatabase(instance.sql, own, close).script(text),
    listen: (hooks) => instanceDatabase(instance.sql, own, close).listen(hooks),
    close,
  };
}

function isInstance(value: unknown): value is PostgresLike {
  if (typeof value !== "function") return false;
  const { unsafe, begin, savepoint, release } = value as unknown as Record<string, unknown>;
  if (typeof unsafe !== "function") throw notAccepted("a function");
  if (typeof begin === "function") return true;
  const inside = "To enqueue in a transaction of it, pass it as { tx }.";
  if (typeof savepoint === "function") {
    throw notAccepted("the sql of a transaction", `Pass the sql that began it. ${inside}`);
  }
  if (typeof release === "function") {
    throw notAccepted("a reserved connection", `Pass the sql that it is reserved from. ${inside}`);
  }
  throw notAccepted("a function");
}

function optionsOf(value: unknown): PostgresOptions | string {
  if (typeof value === "string") return checkedUrl(value);
  const known = ["host", "hostname", "path", "port", "database", "db", "user", "username"];
  const isOptions =
    typeof value === "object" && value !== null && known.some((option) => option in value);
  if (isOptions) return value as PostgresOptions;
  throw notAccepted(typeof value === "object" && value !== null ? "another object" : show(value));
}

/** Never shown in full: it holds a password. */
function checkedUrl(url: string): string {
  if (typeof url !== "string") throw notAccepted(show(url));
  if (/^(postgres|postgresql):\/\//.test(url)) return url;
  throw notAccepted(`a string that begins with ${show(url.slice(0, url.indexOf(":") + 1))}`);
}

function notAccepted(given: string, hint?: string): Error {
  return leaseholdError(
    "LH107",
    `postgres() was given ${given}`,
    hint ??
      "Pass the sql that the package postgres makes, a connection string that begins with " +
        "postgres://, or postgres.js options such as { host, database }.",
  );
}
