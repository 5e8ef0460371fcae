import { answerTypes, type DatabaseTransaction, sqlCaller } from "../database.ts";
import { leaseholdError } from "../errors.ts";
import type { FullDatabase } from "../lazy-database.ts";
import { guardClient, guardPool } from "./connection-errors.ts";
import type { PgClientLike, PgPoolLike } from "./like.ts";
import { openListener } from "./listen.ts";

/**
 * The database behind an open pool. Every call is one statement on any connection of it. `listen`
 * is the URL of the connection that listens; false: none is to.
 */
export function poolDatabase(
  pool: PgPoolLike,
  { schema, listen }: { schema: string; listen: string | false | undefined },
  close: () => Promise<void>,
): FullDatabase {
  guardPool(pool);
  return {
    schema,
    call: caller(pool, schema),
    transaction: (work) => inTransaction(pool, schema, work),
    // Without values this is one simple query, and so one implicit transaction.
    script: async (sql) => void (await pool.query({ text: sql })),
    listen: async (hooks) => (listen === false ? null : openListener(pool, schema, listen, hooks)),
    close,
  };
}

function caller(queryable: Pick<PgPoolLike, "query">, schema: string): FullDatabase["call"] {
  return sqlCaller(schema, async (text, values) => {
    return (await queryable.query({ text, values, types: answerTypes })).rows;
  });
}

async function inTransaction<T>(
  pool: PgPoolLike,
  schema: string,
  work: (tx: DatabaseTransaction) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  const guard = guardClient(client);
  let open = true;
  const call = caller(client, schema);
  const tx: DatabaseTransaction = {
    client,
    call: async (name, args) => {
      if (!open) throw endedError();
      guard.check();
      return call(name, args);
    },
  };
  try {
    await client.query({ text: "begin" });
    const result = await work(tx);
    open = false;
    guard.check();
    await commit(client);
    return result;
  } catch (error) {
    open = false;
    // A connection on which not even rollback works is not given back to the pool.
    await client.query({ text: "rollback" }).catch(guard.lose);
    throw error;
  } finally {
    client.release(guard.end());
  }
}

/** Commits, and throws where PostgreSQL answers the commit of a failed transaction by ROLLBACK. */
async function commit(client: PgClientLike): Promise<void> {
  const { command } = await client.query({ text: "commit" });
  if (command !== "ROLLBACK") return;
  const problem =
    "The transaction was rolled back instead of committed: a statement in it had failed";
  throw Object.assign(new Error(problem), { code: "25P02" });
}

/** After its end the client serves others: a late call would land in a stranger's transaction. */
function endedError(): Error {
  return leaseholdError(
    "LH107",
    "This transaction has ended",
    "Await every call inside the transaction's function.",
  );
}
