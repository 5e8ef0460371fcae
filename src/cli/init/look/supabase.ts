import type { Folder } from "../folder.ts";
import type { Supabase } from "../project.ts";
import { tomlValue } from "../toml.ts";

const config = "supabase/config.toml";

/** Where the tool of Supabase keeps them. */
export const supabaseMigrations = "supabase/migrations";

/** By what the tool of Supabase makes: a folder of that name may hold anything. */
export function isSupabaseProject(folder: Folder): boolean {
  return folder.isFile(config) || folder.isFolder(supabaseMigrations);
}

/** Undefined where the project is none of Supabase's. */
export function lookForSupabase(folder: Folder): Supabase | undefined {
  if (!isSupabaseProject(folder)) return undefined;
  const text = folder.read(config)?.text;
  const port = (section: string, usual: number): number =>
    Number(/^\d{1,5}$/.exec(tomlValue(text ?? "", section, "port") ?? "")?.[0] ?? usual);
  return {
    hasConfig: text !== undefined,
    databasePort: port("db", 54322),
    apiPort: port("api", 54321),
  };
}
