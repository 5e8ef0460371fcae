import type { Folder } from "./folder.ts";
import { lookAtCode } from "./look/code.ts";
import { lookForMigrations } from "./look/migrations.ts";
import { lookForNext } from "./look/next.ts";
import { packageManagerOf } from "./look/package-manager.ts";
import { readPackages } from "./look/packages.ts";
import { lookForSupabase } from "./look/supabase.ts";
import { lookForVercel } from "./look/vercel.ts";
import type { Project } from "./project.ts";

const envExamples = [".env.example", ".env.local.example", ".env.sample", ".env.template"];

/** What the project is. Throws a CliError where it has no package.json. */
export function look(folder: Folder): Project {
  const packages = readPackages(folder);
  const next = lookForNext(folder, packages);
  const envFile = next === undefined ? ".env" : ".env.local";
  return {
    root: folder.root,
    packageManager: packageManagerOf(folder.root, process.env.npm_config_user_agent),
    packages,
    code: lookAtCode(folder, packages, next),
    next,
    migrations: lookForMigrations(folder),
    supabase: lookForSupabase(folder),
    envExample: envExamples.find((path) => folder.isFile(path)) ?? ".env.example",
    envFile: { path: envFile, there: folder.isFile(envFile) },
    hasGitignore: folder.isFile(".gitignore"),
    vercel: lookForVercel(folder),
  };
}
