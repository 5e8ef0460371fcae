import type { Database, ListenHooks, Listening } from "../database.ts";
import { answerParsers, quoteIdentifier, sqlCaller } from "../database.ts";
import { invalidArgument, leaseholdError, show } from "../errors.ts";
import { type FullDatabase, lazyDatabase } from "../lazy-database.ts";
import type { PGliteLike, PGliteTransactionLike } from "./like.ts";
import { inTurn } from "./turn.ts";

export type { PGliteLike, PGliteTransactionLike } from "./like.ts";

export interface PGliteOptions {
  /** The schema that holds leasehold's functions, "leasehold" by default. */
  schema?: string;
  /**
   * Milliseconds that a call waits while a transaction keeps the one session busy, 10,000 by
   * default. Then it rejects with LH108 and is not run.
   */
  busyTimeoutMs?: number;
}

/**
 * PostgreSQL inside the process, through PGlite: for development, tests and single-process tools.
 *
 * Takes a PGlite, which stays the caller's and is never closed here; or the path of a folder, or
 * "memory://" (also ":memory:"), for which the package `@electric-sql/pglite` is loaded and the
 * database opened at the first call and closed by `close()`. A folder belongs to one process, which
 * FOLDER.lock names; within that process everyone shares one PGlite. Nothing is migrated by itself.
 *
 * PGlite has one session. While a transaction is open in it, a call waits; a call that the
 * transaction itself awaits must be given `{ tx }`, or it is rejected after `busyTimeoutMs` (LH108).
 *
 * Throws LH107 for anything else. The first call rejects with LH102 when another process owns the
 * folder, and with LH106 when PGlite is not installed.
 */
export function pglite(
  folderOrInstance: string | PGliteLike,
  { schema = "leasehold", busyTimeoutMs = 10_000 }: PGliteOptions = {},
): Required<Database> {
  if (!(busyTimeoutMs >= 0 && busyTimeoutMs <= 2 ** 31 - 1)) {
    throw invalidArgument("busyTimeoutMs", busyTimeoutMs, "milliseconds, 0 to 2147483647");
  }
  const over = (db: PGliteLike, close: () => Promise<void>): FullDatabase =>
    sessionDatabase(db, schema, busyTimeoutMs, close);
  if (isInstance(folderOrInstance)) return over(folderOrInstance, async () => undefined);
  const folder = folderOf(folderOrInstance);
  return lazyDatabase(schema, async () => {
    // Loaded here: an application that brings its own PGlite needs no file system.
    const { openFolder, openMemory } = await import("./folder.ts");
    if (folder === undefined) {
      const db = await openMemory();
      return over(db, () => db.close());
    }
    const { value, release } = await openFolder(folder);
    return over(value, release);
  });
}

function sessionDatabase(
  db: PGliteLike,
  schema: string,
  busyTimeoutMs: number,
  close: () => Promise<void>,
): FullDatabase {
  const call: Database["call"] = (name, args) =>
    inTurn(db, busyTimeoutMs, (tx) => caller(tx, schema)(name, args));
  return {
    schema,
    call,
    transaction: (work) =>
      inTurn(db, busyTimeoutMs, (tx) => work({ client: tx, call: caller(tx, schema) })),
    script: (sql) => inTurn(db, busyTimeoutMs, async (tx) => void (await tx.exec(sql))),
    listen: async (hooks) => {
      const stop = await inTurn(db, busyTimeoutMs, (tx) => listenIn(db, schema, hooks, tx));
      return stop && { local: true, call, close: stop };
    },
    close,
  };
}

/** In the one session that there is, and so never lost. PGlite takes no channel with a quote. */
async function listenIn(
  db: PGliteLike,
  schema: string,
  { onNotification }: ListenHooks,
  tx: PGliteTransactionLike,
): Promise<Listening["close"] | null> {
  if (schema.includes('"')) return null;
  const stop = await db.listen?.(quoteIdentifier(schema), onNotification, tx);
  return stop ? () => stop().catch(() => undefined) : null;
}

function caller(tx: PGliteTransactionLike, schema: string): FullDatabase["call"] {
  return sqlCaller(schema, async (text, values) => {
    return (await tx.query(text, values, { parsers: answerParsers })).rows;
  });
}

function isInstance(value: unknown): value is PGliteLike {
  if (typeof value !== "object" || value === null) return false;
  const methods = value as Record<string, unknown>;
  return ["query", "exec", "transaction"].every((name) => typeof methods[name] === "function");
}

/** The path of the folder; undefined for a database in memory. */
function folderOf(value: unknown): string | undefined {
  if (value === ":memory:" || value === "memory://") return undefined;
  if (typeof value === "string" && /^file:\/\/./.test(value)) return value.slice("file://".length);
  if (typeof value === "string" && value !== "" && !/^[a-z]+:\/\//i.test(value)) return value;
  throw leaseholdError(
    "LH107",
    `pglite() was given ${show(value)}`,
    'Pass a PGlite, the path of a folder, or "memory://".',
  );
}
