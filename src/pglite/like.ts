/**
 * The parts of PGlite that leasehold uses, by shape: its types are not imported, so that an
 * application without PGlite compiles, and a PGlite in a worker fits as well.
 */
import type { Channels } from "./wire/channels.ts";

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
  readonly wire: WireAccess;
}

/** The session of a PGlite in PostgreSQL's own protocol, for a server. */
export interface WireAccess {
  /** Who hears of what is notified in the session, in this process or at a connection. */
  readonly channels: Channels;
  /** Runs `work` when nothing else runs in the session, calls of this process included. */
  exclusive<T>(work: () => Promise<T>): Promise<T>;
  /** Only inside of `exclusive`. The bytes are good for the call of `onData` alone. */
  exec(messages: Uint8Array, onData: (bytes: Uint8Array) => void): Promise<void>;
}
