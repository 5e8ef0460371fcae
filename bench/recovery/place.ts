import { pg } from "leasehold/pg";
import { migrate } from "leasehold/schema";
import { Pool } from "pg";
import { until } from "./processes.ts";

/** A database with the schema, as the measurements ask it. */
export interface Place {
  readonly url: string;
  /** Enqueues a job that is done at once, or is held by its first claim; answers its id. */
  enqueue(kind: string, payload?: "hold"): Promise<string>;
  /** Its status, as its owner asks for it. */
  status(id: string): Promise<string>;
  /** When the lease of its first claim ends, or when it was last claimed, in milliseconds since 1970. */
  time(id: string, column: "lease_until" | "claimed_at"): Promise<number>;
  /** Ends the connections that listen. */
  terminateListeners(): Promise<void>;
  close(): Promise<void>;
}

/** Installs the schema in a database of its own. */
export async function openPlace(serverUrl: string, name: string): Promise<Place> {
  const admin = new Pool({ connectionString: serverUrl, max: 1 });
  await admin.query(`create database ${name}`);
  await admin.end();
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  const pool = new Pool({ connectionString: url, max: 4 });
  pool.on("error", () => undefined); // its server is restarted
  const database = pg(pool);
  await migrate(database);
  return {
    url,
    async enqueue(kind, payload) {
      const args = { p_kind: kind, p_payload: payload ?? {} };
      return ((await database.call("enqueue", args)) as { id: string }).id;
    },
    async status(id) {
      return ((await database.call("status", { p_id: id })) as { status: string }).status;
    },
    async time(id, column) {
      const text = `select extract(epoch from ${column}) * 1000 as at from leasehold.jobs where id = $1`;
      return Number((await pool.query(text, [id])).rows[0].at);
    },
    async terminateListeners() {
      // A worker tells which connection it is a moment after it began to listen.
      const told = "pid in (select listener from leasehold.workers)";
      const text = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where ${told}`;
      await until(
        async () => (await pool.query(text)).rows.length > 0,
        "a connection that listens",
      );
    },
    close: () => pool.end(),
  };
}
