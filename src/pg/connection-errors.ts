import type { PgClientLike, PgPoolLike } from "./like.ts";

/**
 * node-postgres reports a lost connection as an 'error' event: of the pool while the client is
 * idle, of the client while it is checked out. Without a listener either one ends the process.
 */

// On globalThis, so that a reloaded copy of this module adds no second listener to a pool that the
// application keeps: Node warns of a leak at eleven.
const guardedPoolsName = Symbol.for("leasehold.pg.guarded-pools");

const sameLossMs = 1_000;

/**
 * Adds the one listener that keeps the loss of an idle connection from ending the process. The pool
 * replaces the connection by itself, so a warning is all that is due, and only when the application
 * has no listener of its own.
 */
export function guardPool(pool: PgPoolLike): void {
  const holder = globalThis as { [guardedPoolsName]?: WeakSet<object> };
  holder[guardedPoolsName] ??= new WeakSet();
  if (holder[guardedPoolsName].has(pool)) return;
  holder[guardedPoolsName].add(pool);
  let warnedAt = Number.NEGATIVE_INFINITY;
  pool.on?.("error", (error) => {
    if ((pool.listenerCount?.("error") ?? 1) > 1) return;
    // A server that goes takes all connections along: that is one loss.
    if (performance.now() - warnedAt < sameLossMs) return;
    warnedAt = performance.now();
    process.emitWarning(`an idle database connection was lost: ${error.message}`, {
      type: "LeaseholdWarning",
      code: "LEASEHOLD_CONNECTION_LOST",
    });
  });
}

/** Watches a checked-out client. */
export interface ClientGuard {
  /** Whether it was, or a failure was noted. */
  readonly lost: boolean;
  /** Throws why the connection was lost, which node-postgres would tell no later statement. */
  check(): void;
  /** Notes a failure after which the connection is not to be used again. */
  lose(error: Error): void;
  /** Takes the listener off; answers the first failure, for `release` to drop the client. */
  end(): Error | undefined;
}

/** Adds one listener to a checked-out client, until `end()`, which stands right before `release`. */
export function guardClient(client: PgClientLike): ClientGuard {
  let lost: Error | undefined;
  const lose = (error: Error): void => {
    lost ??= error;
  };
  client.on?.("error", lose);
  return {
    lose,
    get lost() {
      return lost !== undefined;
    },
    check: () => {
      if (lost) throw lost;
    },
    end: () => {
      client.off?.("error", lose);
      return lost;
    },
  };
}
