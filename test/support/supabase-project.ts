import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import type pg from "pg";
import { migrate } from "../../src/schema/index.ts";
import type { SupabaseDatabase } from "../../src/supabase/index.ts";
import { supabase } from "../../src/supabase/index.ts";
import { type Postgrest, type PostgrestOptions, startPostgrest } from "./postgrest.ts";
import { firstValue, type Queryable } from "./queryable.ts";
import { tableReset } from "./reset.ts";
import { startSupabase } from "./supabase-server.ts";

/** A PostgreSQL of its own with Supabase's roles, leasehold installed and served by PostgREST. */
export interface SupabaseProject extends Queryable {
  readonly schema: "leasehold";
  readonly quotedSchema: string;
  /** The direct connection, as the owner of everything. */
  readonly pool: pg.Pool;
  readonly postgrest: Postgrest;
  /** Over the service_role key. */
  readonly database: SupabaseDatabase;
  /** A client as an application makes it, with the service_role key unless another is given. */
  client(key?: string): SupabaseClient;
  /** Another PostgREST over the same database, closed with the project. */
  serve(options: Partial<PostgrestOptions>): Promise<Postgrest>;
  /** Puts leasehold's tables and the way to them back to where they were. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** How Supabase bounds what comes through its Data API. */
const timeouts = `
  alter role authenticator set statement_timeout = '8s';
  alter role authenticator set lock_timeout = '8s'`;

/** Starts one. */
export async function startSupabaseProject(): Promise<SupabaseProject> {
  const server = await startSupabase();
  const { pool } = server;
  pool.on("error", () => undefined); // node-postgres does not wait for the end of its connections
  await pool.query(timeouts);
  await migrate(server.database);
  const authenticator = server.url.replace("postgres@", "authenticator@");
  const query: Queryable["query"] = async (text, values) => {
    const result = await pool.query(text, values);
    return Array.isArray(result) ? result.at(-1).rows : result.rows;
  };
  const servers: Postgrest[] = [];
  const serve: SupabaseProject["serve"] = async (options) => {
    const started = await startPostgrest({ url: authenticator, ...options });
    servers.push(started);
    return started;
  };
  const schemas = ["public", "leasehold"];
  const postgrest = await serve({ schemas: [...schemas] });
  const client = (key = postgrest.keys.serviceRole) => clientOf(postgrest, key);
  const emptyTables = await tableReset({ query }, "leasehold");
  return {
    schema: "leasehold",
    quotedSchema: "leasehold",
    query,
    ...firstValue({ query }),
    pool,
    postgrest,
    database: supabase(client()),
    client,
    serve,
    async reset() {
      postgrest.trouble = () => undefined;
      postgrest.schemas = [...schemas];
      postgrest.forget();
      await emptyTables();
    },
    async close() {
      await Promise.all(servers.map((each) => each.close()));
      await server.stop();
    },
  };
}

/** A client of supabase-js, as the documentation makes it for a server. */
export function clientOf(
  { url }: Pick<Postgrest, "url">,
  key: string,
  headers: Record<string, string> = {},
): SupabaseClient {
  return createClient(url, key, {
    global: { headers },
    auth: { persistSession: false, autoRefreshToken: false },
    // Node 20 has no WebSocket, without which supabase-js makes no client. None is ever opened.
    realtime: { transport: class {} as never },
  });
}
