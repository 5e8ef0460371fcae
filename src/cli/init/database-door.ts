import type { Project } from "./project.ts";

/** How the application reaches its database. */
export type Door = "pg" | "postgres" | "supabase";

/** By the driver that is installed; supabase-js where it is the only one; pg where there is none. */
export function doorOf({ packages }: Pick<Project, "packages">): Door {
  if (packages.has("pg")) return "pg";
  if (packages.has("postgres")) return "postgres";
  return packages.has("@supabase/supabase-js") ? "supabase" : "pg";
}
