import type { Database, DatabaseTransaction } from "../database.ts";
import { leaseholdError } from "../errors.ts";
import { caller } from "./caller.ts";
import type { PostgresLike, PostgresTransactionLike } from "./like.ts";

/**
 * One transaction through `sql.begin`, whose scoped `sql` the user's function gets as the client.
 *
 * After its end, and after the loss of its connection, postgres.js would still send what comes
 * through the scoped `sql`: on a connection that serves others by then, or on none, which ends the
 * process. So late calls are refused here, and a function that returns after the loss is never seen
 * to return, since a `commit` or `rollback` would follow.
 *
 * A transaction that is abandoned is as good as lost to us, though postgres.js knows nothing of it:
 * the connection stays in its pool until TCP gives it up. `onAbandon` is told.
 */
export async function inTransaction<T>(
  sql: PostgresLike,
  schema: string,
  work: (tx: DatabaseTransaction) => Promise<T>,
  onAbandon: () => void = () => undefined,
): Promise<T> {
  let open = true;
  let ended: unknown;
  let outcome: { value: T } | { error: unknown } | undefined;

  let settled = false;
  let abandon: () => void = () => undefined;
  const abandoned = new Promise<never>((_, reject) => {
    abandon = () => {
      if (settled) return;
      reject(new Error("the connection was given up: the server had ended its transaction"));
      onAbandon();
    };
  });

  const run = async (scoped: PostgresTransactionLike): Promise<void> => {
    const call = guarded(caller(scoped, schema), () => open);
    try {
      outcome = { value: await work({ client: scoped, call, abandon }) };
    } catch (error) {
      outcome = { error };
    }
    open = false;
    await new Promise((resolve) => setImmediate(resolve)); // word of a loss is some ticks behind
    if (ended !== undefined) await new Promise<never>(() => undefined);
    if ("error" in outcome) throw outcome.error;
  };
  try {
    await Promise.race([sql.begin(run), abandoned]);
  } catch (error) {
    open = false;
    ended = error;
  }
  settled = true;
  // Its connection was lost while the function runs, or it never began.
  if (outcome === undefined) throw ended;
  // The function's own error: postgres.js may put in its place that of an earlier statement.
  if ("error" in outcome) throw outcome.error;
  if (ended !== undefined) throw commitError(ended);
  return outcome.value;
}

function guarded(call: Database["call"], isOpen: () => boolean): Database["call"] {
  return async (name, args) => {
    if (isOpen()) return call(name, args);
    throw leaseholdError(
      "LH107",
      "This transaction has ended",
      "Await every call inside the transaction's function.",
    );
  };
}

/**
 * Why a transaction whose function resolved was not committed. Where a statement in it had failed,
 * postgres.js rolls back by itself, whether or not the function minded, and rejects with that
 * statement's error; by `query` it is told from an error of the commit.
 */
function commitError(error: unknown): unknown {
  const { query, severity } = (error ?? {}) as { query?: unknown; severity?: unknown };
  if (severity === undefined || query === "commit") return error;
  const problem =
    "The transaction was rolled back instead of committed: a statement in it had failed";
  return Object.assign(new Error(problem, { cause: error }), { code: "25P02" });
}
