import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type SupabaseServer,
  startSupabase,
  supabaseServers,
} from "../../support/supabase-server.ts";

/** A PostgreSQL with the roles of a Supabase project, and none of its extensions. */
export interface SupabaseDatabase extends SupabaseServer {
  /** Runs the migrations of a folder as `supabase db push` does: in order, each as one script. */
  push(folder: string): Promise<string[]>;
}

/** Starts the oldest version that can be had here: PostgreSQL 15 where Debian's is installed. */
export async function startSupabaseDatabase(): Promise<SupabaseDatabase> {
  const [name, programs] = supabaseServers.at(-1) ?? [];
  console.info(`The database is ${name}.`);
  const server = await startSupabase(programs);
  return {
    ...server,
    async push(folder) {
      const names = readdirSync(folder).sort();
      for (const name of names) await server.query(readFileSync(join(folder, name), "utf8"));
      return names;
    },
  };
}
