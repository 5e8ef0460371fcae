import { answerTypes, type DatabaseTransaction, sqlCaller } from "../database.ts";
import { leaseholdError } from "../errors.ts";
import type { FunctionName } from "../functions.ts";
import type { FullDatabase } from "../lazy-database.ts";
import { silentMs, waitsForNobody } from "../unwaiting.ts";
import { type ClientGuard, guardClient, guardPool } from "./connection-errors.ts";
import type { PgClientLike, PgConnect, PgPoolLike } from "./like.ts";
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
  const limit = silenceLimit(pool);
  return {
    schema,
    call: caller(pool, schema, (name) => (waitsForNobody(name) ? limit : {})),
    transaction: (work) => inTransaction(pool, schema, work),
    // Without values this is one simple query, and so one implicit transaction.
    script: async (sql) => void (await pool.query({ text: sql })),
    listen: async (hooks) => (listen === false ? null : openListener(pool, schema, listen, hooks)),
    close,
  };
}

function caller(
  queryable: Pick<PgPoolLike, "query">,
  schema: string,
  limitOf: (name: FunctionName) => object = () => ({}),
): FullDatabase["call"] {
  return sqlCaller(schema, async (text, values, name) => {
    return (await queryable.query({ text, values, types: answerTypes, ...limitOf(name) })).rows;
  });
}

/** The limit of what waits for nobody, unless the application has set its own for all statements. */
function silenceLimit({ options }: PgPoolLike): object {
  return options?.query_timeout ? {} : { query_timeout: silentMs };
}

async function inTransaction<T>(
  pool: PgPoolLike,
  schema: string,
  work: (tx: DatabaseTransaction) => Promise<T>,
): Promise<T> {
  const { client, guard } = await checkOut(pool);
  const limit = silenceLimit(pool);
  let open = true;
  let released = false;
  const call = caller(client, schema);
  const tx: DatabaseTransaction = {
    client,
    call: async (name, args) => {
      if (!open) throw endedError();
      guard.check();
      return call(name, args);
    },
    abandon: () => {
      if (released) return;
      guard.lose(new Error("the connection was given up: the server had ended its transaction"));
      client.connection?.stream?.destroy?.();
    },
  };
  try {
    // A connection that doesn't even begin is silent, and would keep the rollback waiting too.
    await client.query({ text: "begin", ...limit }).catch((error: Error) => {
      guard.lose(error);
      throw error;
    });
    const result = await work(tx);
    open = false;
    guard.check();
    await commit(client);
    return result;
  } catch (error) {
    open = false;
    // A connection on which not even rollback works is not given back to the pool.
    if (!guard.lost) await client.query({ text: "rollback", ...limit }).catch(guard.lose);
    throw error;
  } finally {
    released = true;
    client.release(guard.end());
  }
}

/**
 * A client of the pool, under guard from the moment at which the pool takes its own listener off:
 * the loss that comes in the same packet as the word that the connection is ready would otherwise
 * be heard by nobody, which ends the process.
 */
function checkOut(pool: PgPoolLike): Promise<{ client: PgClientLike; guard: ClientGuard }> {
  return new Promise((resolve, reject) => {
    const take = (client: PgClientLike) => resolve({ client, guard: guardClient(client) });
    const answer = (pool.connect as PgConnect).call(pool, (error, client) => {
      if (client) take(client);
      else reject(error);
    });
    answer?.then(take, reject); // a pool that knows no callbacks
  });
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
