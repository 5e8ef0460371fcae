import { answerParsers, answerTypes, type Database, type Row, sqlCaller } from "./database.ts";
import { leaseholdError, show } from "./errors.ts";

/**
 * An open transaction of the user's: a node-postgres client that has begun one, or what PGlite's
 * `transaction` hands out. Structural, so that no driver's types are needed.
 */
export interface TransactionLike {
  query(...statement: unknown[]): Promise<{ rows: unknown[] }>;
}

/** `call` inside the user's transaction. Throws LH107 for anything that is none. */
export function transactionCaller(tx: unknown, schema: string): Database["call"] {
  const { query } = (tx ?? {}) as Partial<TransactionLike>;
  if (typeof query !== "function") throw unknownTx(`tx is ${show(tx)}`);
  if (isPool(tx)) throw unknownTx("tx is a pool, whose every query may run on another connection");
  if (isMainHandle(tx)) throw unknownTx("tx is the PGlite itself, not its transaction");
  return sqlCaller(schema, async (text, values) => {
    const handle = tx as TransactionLike;
    const { rows } = isPGlite(tx)
      ? await handle.query(text, values, { parsers: answerParsers })
      : await handle.query({ text, values, types: answerTypes });
    return rows as Row[];
  });
}

/** PGlite's transaction runs scripts; a node-postgres client does not. */
function isPGlite(tx: unknown): boolean {
  return typeof (tx as { exec?: unknown }).exec === "function";
}

function isPool(tx: unknown): boolean {
  return typeof (tx as { totalCount?: unknown }).totalCount === "number";
}

function isMainHandle(tx: unknown): boolean {
  return typeof (tx as { transaction?: unknown }).transaction === "function";
}

function unknownTx(problem: string): Error {
  return leaseholdError(
    "LH107",
    problem,
    "Pass what holds the open transaction: a node-postgres client after `begin`, or the tx of PGlite's transaction().",
  );
}
