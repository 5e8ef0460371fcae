/**
 * The parts of node-postgres that leasehold uses, by shape: the driver's types are not imported, so
 * that an application without node-postgres compiles, and any pool of this shape fits.
 */

/** One statement. It never has a `name`: named ones break behind a transaction pooler. */
export interface PgQuery {
  text: string;
  values?: unknown[];
  /** How columns are read, in place of the parsers that the application may have changed. */
  types?: { getTypeParser(oid: number, format?: unknown): (value: string) => unknown };
  /** Milliseconds without an answer after which it rejects; the pool then drops its connection. */
  query_timeout?: number;
}

export interface PgResult {
  // biome-ignore lint/suspicious/noExplicitAny: as node-postgres declares it
  rows: any[];
  /** The command tag: `COMMIT`, or `ROLLBACK` for the commit of a failed transaction. */
  command?: string;
}

type ErrorListener = (error: Error) => void;

/** A node-postgres Pool, or what looks like one. */
export interface PgPoolLike {
  query(query: PgQuery): Promise<PgResult>;
  connect(): Promise<PgClientLike>;
  on?(event: "error", listener: ErrorListener): unknown;
  listenerCount?(event: "error"): number;
  /** What node-postgres' pool makes its clients of; where it is missing, nothing can listen. */
  readonly Client?: new (
    options: object,
  ) => PgListenClientLike;
  readonly options?: { readonly query_timeout?: unknown; readonly password?: unknown };
}

/**
 * `connect` as node-postgres' pool has it beside the one that answers a promise: the client is
 * handed over before anything else can happen to it.
 */
export type PgConnect = (
  take: (error: Error | undefined, client: PgClientLike | undefined) => void,
) => Promise<PgClientLike> | undefined;

/** A client that belongs to no pool: the one that listens. */
export interface PgListenClientLike {
  connect(): Promise<unknown>;
  query(query: PgQuery): Promise<PgResult>;
  end(): Promise<void>;
  on(event: "error", listener: ErrorListener): unknown;
  on(event: "end", listener: () => void): unknown;
  on(
    event: "notification",
    listener: (message: { channel: string; payload?: string }) => void,
  ): unknown;
  readonly connection?: { readonly stream?: { destroy?(): unknown } };
}

/** A client checked out of a pool. */
export interface PgClientLike {
  query(query: PgQuery): Promise<PgResult>;
  /** Gives the client back; with an error its connection is destroyed. */
  release(error?: Error): void;
  on?(event: "error", listener: ErrorListener): unknown;
  off?(event: "error", listener: ErrorListener): unknown;
  readonly connection?: { readonly stream?: { destroy?(): unknown } };
}
