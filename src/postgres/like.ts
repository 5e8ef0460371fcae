/**
 * The parts of postgres.js that leasehold uses, by shape: the driver's types are not imported, so
 * that an application without postgres.js compiles, and any `sql` of this shape fits.
 */

/** The rows of a statement, each of them the raw values of its columns. */
export interface PostgresRows extends Iterable<unknown> {
  readonly columns?: readonly { readonly type: number }[];
}

/** A statement that runs once it is awaited. */
export interface PostgresQuery extends PromiseLike<unknown> {
  /** Columns as the bytes that came, past the parsers and transforms of the application. */
  raw(): PostgresStatement;
}

/** A statement that answers raw rows. */
export interface PostgresStatement extends PromiseLike<PostgresRows> {
  /** The connection that it was sent on; null until then. */
  readonly state?: unknown;
  /** Takes back a statement that was not sent: it rejects, and is never run. */
  cancel?(): unknown;
}

/** What `sql`, the scoped `sql` of a transaction and a reserved connection have in common. */
export interface PostgresQueryable {
  unsafe(
    query: string,
    // biome-ignore lint/suspicious/noExplicitAny: postgres.js wants its own union of values
    parameters?: any[],
    options?: { prepare?: boolean; simple?: boolean },
  ): PostgresQuery;
}

/** An open transaction: the scoped `sql` that postgres.js hands to the function given to `begin`. */
export interface PostgresTransactionLike extends PostgresQueryable {
  // biome-ignore lint/suspicious/noExplicitAny: only its presence counts
  savepoint: any;
}

/** What `postgres(url)` answers, or what looks like it. */
export interface PostgresLike extends PostgresQueryable {
  // biome-ignore lint/suspicious/noExplicitAny: what the function answers is passed through
  begin(work: (tx: any) => any): PromiseLike<any>;
  /** As postgres.js parsed them; it takes them again for another connection. */
  readonly options?: object;
}

/** An instance that leasehold opened itself, and so closes. */
export interface OwnPostgres extends PostgresLike {
  end(options?: { timeout?: number }): Promise<void>;
}
