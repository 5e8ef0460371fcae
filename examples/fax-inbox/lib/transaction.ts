import type { PoolClient } from "pg";
import { pool } from "./database.ts";

/** Runs `work` in one transaction, which is rolled back where it throws. */
export async function inTransaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query("begin");
    const answer = await work(client);
    await client.query("commit");
    return answer;
  } catch (error) {
    await client.query("rollback").catch((cause: Error) => {
      broken = cause;
    });
    throw error;
  } finally {
    client.release(broken); // one that could not even roll back is of no use to the next
  }
}
