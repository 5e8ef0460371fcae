import pg from "pg";
import type { Database } from "../../src/database.ts";
import { pg as leaseholdPg } from "../../src/pg/index.ts";
import { servers } from "./postgres-control.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

/** Where a database as Supabase's can be had here: the folder of its programs, if not the package's. */
export const supabaseServers: readonly (readonly [name: string, programs: string | undefined])[] =
  servers.map(({ name, programs }) => [name, programs]);

/** A database with what Supabase puts there before anything else. */
export interface SupabaseServer extends PostgresServer {
  readonly pool: pg.Pool;
  readonly database: Database;
  /** The rows of one statement as the owner, or as a role, with the claims of a signed-in user. */
  query(text: string, values?: unknown[]): Promise<pg.QueryResultRow[]>;
  as(role: Role, text: string, values?: unknown[], user?: string): Promise<pg.QueryResultRow[]>;
}

export type Role = "anon" | "authenticated" | "service_role";

/**
 * Roles, the function auth.uid(), and the default privileges that give the roles all rights on what is
 * made in `public`: a server of its own, since roles belong to the whole server.
 */
const foundation = `
  create role anon nologin noinherit;
  create role authenticated nologin noinherit;
  create role service_role nologin noinherit bypassrls;
  create role authenticator login noinherit;
  grant anon, authenticated, service_role to authenticator;
  create schema auth;
  create schema extensions;
  grant usage on schema auth, public, extensions to anon, authenticated, service_role;
  create function auth.uid() returns uuid language sql stable as $$
    select nullif(current_setting('request.jwt.claims', true)::jsonb->>'sub', '')::uuid
  $$;
  alter default privileges in schema public grant all on tables to anon, authenticated, service_role;
  alter default privileges in schema public grant all on functions to anon, authenticated, service_role;
  alter default privileges in schema public grant all on sequences to anon, authenticated, service_role;
`;

export async function startSupabase(programs?: string): Promise<SupabaseServer> {
  const server = await startPostgres({ programs });
  const pool = new pg.Pool({ connectionString: server.url, max: 30 });
  await pool.query(foundation);
  const query = async (text: string, values?: unknown[]) => (await pool.query(text, values)).rows;
  return {
    ...server,
    pool,
    database: leaseholdPg(pool),
    query,
    async as(role, text, values, user) {
      const client = await pool.connect();
      try {
        await client.query("begin");
        const claims = JSON.stringify({ role, ...(user !== undefined && { sub: user }) });
        await client.query("select set_config('request.jwt.claims', $1, true)", [claims]);
        await client.query(`set local role ${role}`);
        const { rows } = await client.query(text, values);
        await client.query("commit");
        return rows;
      } catch (error) {
        await client.query("rollback");
        throw error;
      } finally {
        client.release();
      }
    },
    async stop() {
      await pool.end();
      await server.stop();
    },
  };
}
