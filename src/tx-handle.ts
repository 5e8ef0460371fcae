/**
 * The open transactions that `{ tx }` takes, by shape: no library's types are imported, so that an
 * application compiles that has none of them. The shapes leave out the handles outside of a
 * transaction (a pool, Drizzle's `db`), which are also refused when the code runs (LH107).
 */
export type TransactionHandle =
  | NodePostgresTransaction
  | PGliteTransaction
  | PostgresJsTransaction
  | DrizzleTransaction
  | KyselyTransaction
  | PrismaTransaction
  | KnexTransaction;

// biome-ignore lint/suspicious/noExplicitAny: what a library declares more precisely, each its own way
type Any = any;

/** node-postgres: a Client, or one checked out of a Pool, after `begin`. */
export interface NodePostgresTransaction {
  query(statement: {
    text: string;
    values?: Any[];
    types?: { getTypeParser(oid: number, format?: Any): (value: string) => Any };
  }): Promise<{ rows: Any[] }>;
  /** A Pool has these. */
  readonly totalCount?: never;
}

/** PGlite: what its `transaction` hands out. */
export interface PGliteTransaction {
  query(text: string, values?: Any[], options?: Any): Promise<{ rows: Any[] }>;
  exec(sql: string): Promise<unknown>;
  /** A PGlite has this. */
  readonly transaction?: never;
}

/** postgres.js: the scoped `sql` of `sql.begin`, or a reserved connection after `begin`. */
export type PostgresJsTransaction = {
  unsafe(query: string, parameters?: Any[], options?: Any): { raw(): PromiseLike<Any> };
} & ({ savepoint: Any } | { release(): void });

/** Drizzle over node-postgres, postgres.js or PGlite: the `tx` of `db.transaction`, also nested. */
export interface DrizzleTransaction {
  readonly _: { readonly session: object };
  rollback(): never;
}

/** Kysely: the `trx` of `db.transaction().execute`, or of `db.startTransaction()`. */
export interface KyselyTransaction {
  readonly isTransaction: true;
  executeQuery(query: Any): Promise<{ rows: Any[] }>;
}

/** Prisma: the `tx` of `prisma.$transaction(async (tx) => …)`. */
export interface PrismaTransaction {
  $queryRawUnsafe(query: string, ...values: Any[]): PromiseLike<Any>;
  /** A PrismaClient has this. */
  readonly $connect?: never;
}

/** Knex: the `trx` of `knex.transaction`. */
export interface KnexTransaction {
  raw(sql: string, bindings: Any): PromiseLike<Any>;
  isCompleted(): boolean;
}
