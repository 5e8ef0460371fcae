import type pg from "pg";
import type { PgPoolLike } from "../../src/pg/index.ts";

/**
 * What a pool in front of a transaction pooler (PgBouncer, Supavisor) amounts to: outside of a
 * transaction, every statement may find another session, which knows of nothing that was set or
 * prepared before. Named statements are refused, as such a pooler without support for them would.
 */
export function transactionPooler(pool: pg.Pool): PgPoolLike {
  const connect = async (): Promise<pg.PoolClient> => {
    const client = await pool.connect();
    await client.query("discard all");
    return client;
  };
  return {
    connect,
    async query(query) {
      if ("name" in query) throw new Error(`a named statement: ${query.text}`);
      const client = await connect();
      try {
        return await client.query(query);
      } finally {
        // Destroyed, so that the next statement is sure to run in another session.
        client.release(true);
      }
    },
  };
}
