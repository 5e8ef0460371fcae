/**
 * The parts of PGlite that leasehold uses, by shape: its types are not imported, so that an
 * application without PGlite compiles, and a PGlite in a worker fits as well.
 */

export interface PGliteQueryOptions {
  /** How columns are read, by type oid. */
  parsers?: Record<number, (text: string) => unknown>;
}

interface PGliteQueryable {
  query(
    text: string,
    values?: unknown[],
    options?: PGliteQueryOptions,
    // biome-ignore lint/suspicious/noExplicitAny: as PGlite declares it
  ): Promise<{ rows: any[] }>;
  exec(sql: string): Promise<unknown>;
}

/** An open transaction: what PGlite hands to the function given to `transaction`. */
export type PGliteTransactionLike = PGliteQueryable;

/** A PGlite, or what looks like one. */
export interface PGliteLike extends PGliteQueryable {
  transaction<T>(work: (tx: PGliteTransactionLike) => Promise<T>): Promise<T>;
  readonly waitReady?: Promise<void>;
  /** Answers the function that ends the listening. */
  listen?(
    channel: string,
    listener: (payload: string) => void,
    tx?: PGliteTransactionLike,
  ): Promise<() => Promise<void>>;
}

/** A PGlite that leasehold opened itself, and so closes. */
export interface OwnPGlite extends PGliteLike {
  close(): Promise<void>;
}
