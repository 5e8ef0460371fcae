import type { TransactionHandle } from "../../src/index.ts";
import type { Backend, TestDatabase } from "../support/databases.ts";

/** The work of a transaction: its handle, and an insert of the user's own into public.orders. */
export type Work<T> = (
  tx: TransactionHandle,
  order: (id: number) => Promise<unknown>,
) => Promise<T>;

/** A library as an application would have it set up. */
export interface Library {
  /** Runs `work` in a transaction that commits when it resolves and rolls back when it rejects. */
  transaction<T>(work: Work<T>): Promise<T>;
  /** What stands outside of a transaction, and how the error names it. */
  main: { handle: unknown; named: RegExp };
  close(): Promise<unknown>;
}

export interface LibraryUse {
  backend: Backend;
  open(db: TestDatabase): Library;
}

/** The user's own row, where a library takes plain SQL. */
export const insert = "insert into public.orders values ($1)";
