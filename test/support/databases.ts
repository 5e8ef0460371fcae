import type { PGlite } from "@electric-sql/pglite";
import type pg from "pg";
import { type Database, quoteIdentifier } from "../../src/database.ts";
import { openPGlite } from "./pglite-backend.ts";
import { openPostgres } from "./postgres-backend.ts";
import { firstValue, type Queryable, type Session } from "./queryable.ts";
import { tableReset } from "./reset.ts";

export type { Queryable, Session } from "./queryable.ts";

/** What every test of the SQL functions runs on. */
export const backends = ["postgres", "pglite"] as const;
export type Backend = (typeof backends)[number];

export interface TestDatabase extends Queryable {
  backend: Backend;
  schema: string;
  /** The schema as it stands in SQL text. */
  quotedSchema: string;
  /** The seam over this database, as a user would make it. */
  database: Required<Database>;
  /** A new connection. Throws on PGlite, which has one session alone. */
  connect(): Promise<Session>;
  /** The connection string. Throws on PGlite. */
  readonly url: string;
  /** The pool. Throws on PGlite. */
  readonly pool: pg.Pool;
  /** The instance. Throws on PostgreSQL. */
  readonly pglite: PGlite;
  /** Back to the state after the migration: every table holds what it held then. */
  reset(): Promise<void>;
  /** Closes all connections and drops the database. */
  close(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** "leasehold" by default. */
  schema?: string;
  /** Whether the schema is installed, true by default. */
  migrated?: boolean;
}

/** What a backend brings; the rest is the same for both. */
export type BackendDatabase = Omit<
  TestDatabase,
  "backend" | "schema" | "quotedSchema" | "reset" | "value"
>;

/**
 * Opens a fresh database that nobody else uses: on PostgreSQL a copy of a migrated template, on
 * PGlite an instance in memory. Once a test file, with `reset()` before each test, is fastest.
 */
export async function openTestDatabase(
  backend: Backend,
  { schema = "leasehold", migrated = true }: TestDatabaseOptions = {},
): Promise<TestDatabase> {
  const open = backend === "postgres" ? openPostgres : openPGlite;
  const opened = await open(schema, migrated);
  const own = { backend, schema, quotedSchema: quoteIdentifier(schema), ...firstValue(opened) };
  const reset = await tableReset(opened, schema);
  // The getters of the backend stay getters: they throw where there is no such thing.
  return Object.defineProperties(
    { ...own, reset },
    Object.getOwnPropertyDescriptors(opened),
  ) as unknown as TestDatabase;
}
