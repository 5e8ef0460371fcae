import { AsyncLocalStorage } from "node:async_hooks";
import { type LeaseholdError, leaseholdError } from "../errors.ts";
import type { PGliteLike, PGliteTransactionLike } from "./like.ts";

/**
 * PGlite has one session. A call on the main object waits until the transaction that is open has
 * ended, so a call that this transaction itself awaits would wait for ever, and everything after
 * it. Here work waits for its turn a limited time only, and work that gave up is never run when its
 * turn comes after all.
 */

/** One transaction that leasehold opened. */
interface Opened {
  readonly db: PGliteLike;
  open: boolean;
}

/** The transactions of leasehold around the code that runs now, outermost first. */
const around = new AsyncLocalStorage<readonly Opened[]>();

/** When a turn last began or ended, by `performance.now()`. */
const movedAt = new WeakMap<PGliteLike, number>();

/** Tells that a turn in the session began or ended that was not taken here, so nobody gives up. */
export function noteMove(db: PGliteLike): void {
  movedAt.set(db, performance.now());
}

/**
 * Runs `work` in a transaction once the session is free.
 *
 * Being a transaction is what makes the wait safe to give up: PGlite has no way to withdraw a
 * queued statement, but the function given to `transaction` can do nothing when its turn comes.
 * The empty `begin` and `commit` cost 0.04 ms a call.
 *
 * Rejects with LH108 when nothing moved in the session for `busyTimeoutMs` (a long queue that moves
 * is no reason), and at once when a transaction that leasehold opened on `db` awaits this call.
 */
export async function inTurn<T>(
  db: PGliteLike,
  busyTimeoutMs: number,
  work: (tx: PGliteTransactionLike) => Promise<T>,
): Promise<T> {
  const outer = around.getStore() ?? [];
  if (outer.some((opened) => opened.open && opened.db === db)) throw insideError();
  await db.waitReady; // the start takes seconds, and is no wait for others
  const patience = startPatience(db, busyTimeoutMs);
  const opened = { db, open: true };
  const done = db.transaction(async (tx): Promise<T> => {
    if (patience.over) return undefined as never; // nobody waits for this answer any more
    patience.stop();
    noteMove(db);
    try {
      return await around.run([...outer, opened], () => work(tx));
    } finally {
      opened.open = false;
      noteMove(db);
    }
  });
  return Promise.race([done, patience.lost]).finally(patience.stop);
}

interface Patience {
  over: boolean;
  /** Rejects when the patience is over. */
  readonly lost: Promise<never>;
  stop(): void;
}

function startPatience(db: PGliteLike, busyTimeoutMs: number): Patience {
  const since = performance.now();
  let timer: NodeJS.Timeout;
  let lose: (error: LeaseholdError) => void;
  const patience = {
    over: false,
    lost: new Promise<never>((_, reject) => {
      lose = reject;
    }),
    stop: () => clearTimeout(timer),
  };
  const check = (): void => {
    const still = performance.now() - Math.max(since, movedAt.get(db) ?? 0);
    const left = Math.ceil(busyTimeoutMs - still);
    if (left > 0) {
      timer = setTimeout(check, left);
      return;
    }
    patience.over = true;
    lose(busyError(busyTimeoutMs));
  };
  timer = setTimeout(check, busyTimeoutMs);
  return patience;
}

const hint = "Inside a transaction, pass it to the call as { tx }";

function insideError(): LeaseholdError {
  return leaseholdError(
    "LH108",
    "PGlite has one session, and the transaction that is open in it awaits a call outside of it",
    `${hint}.`,
  );
}

function busyError(busyTimeoutMs: number): LeaseholdError {
  return leaseholdError(
    "LH108",
    `PGlite has one session, and a transaction kept it busy for ${busyTimeoutMs} ms: the call was given up and has not run`,
    `${hint}; without it, a call waits until that transaction has ended. If transactions may take this long, raise busyTimeoutMs.`,
  );
}
