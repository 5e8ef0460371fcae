import { invalidArgument } from "./errors.ts";
import { knownOptions } from "./options.ts";

/** What a ledger says of one charge. */
export type LedgerAnswer = "none" | "charged" | "refunded";

/**
 * A ledger outside leasehold (the user's own table, a payment provider) that a job charges under its
 * idempotency key, `job.idempotencyKey`, "id:run". When such a job fails, is cancelled or reaped, its
 * money is `checking` until the ledger was asked; the status of a job decides nothing about money.
 */
export interface Settlement {
  /**
   * Asks the ledger what stands under this key. Throwing means that it can't be read now: it is asked
   * again, and in the end the money is `unknown` and an alert says so.
   */
  lookup(key: string, context: SettlementContext): Promise<LedgerAnswer> | LedgerAnswer;
  /**
   * Takes the charge back. May be called again for the same key, by another process too, so it must be
   * idempotent by it. Without it a charge stays, the money is `charged`, and an alert says so.
   */
  refund?(key: string, context: SettlementContext): Promise<unknown> | unknown;
}

/** What a look at the ledger is about. */
export interface SettlementContext {
  /** The job that ended, and its run. */
  readonly id: string;
  readonly run: number;
  readonly kind: string;
  readonly key: string | null;
  readonly owner: string | null;
  readonly payload: unknown;
  /** Aborts when the look must end. */
  readonly signal: AbortSignal;
}

/** Throws LH002, LH003 where it is none. */
export function checkedSettlement(value: Settlement): Settlement {
  knownOptions("settlement", value, ["lookup", "refund"]);
  if (typeof value.lookup !== "function") {
    throw invalidArgument("settlement.lookup", value.lookup, "a function of the idempotency key");
  }
  if (value.refund !== undefined && typeof value.refund !== "function") {
    throw invalidArgument("settlement.refund", value.refund, "a function of the idempotency key");
  }
  return value;
}
