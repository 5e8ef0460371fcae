import { usageError } from "../failure.ts";
import type { Change } from "./change.ts";
import { clientFile } from "./changes/client-file.ts";
import { envExample } from "./changes/env-example.ts";
import { gitignore } from "./changes/gitignore.ts";
import { jobsFile } from "./changes/jobs-file.ts";
import { migration } from "./changes/migration.ts";
import { nextConfig } from "./changes/next-config.ts";
import { routeFile } from "./changes/route-file.ts";
import { supabaseConfig } from "./changes/supabase-config.ts";
import { vercelJson } from "./changes/vercel-json.ts";
import { wakeups } from "./changes/wakeups.ts";
import type { Choices } from "./choices.ts";
import type { Project } from "./project.ts";

/**
 * The files that this project needs, in the order in which they are shown and written. Throws a
 * CliError where a file that is there is in the way, and a usage error for a choice that does not fit.
 */
export function plan(project: Project, choices: Choices): Change[] {
  const { migrations, supabase, next, code, packages } = project;
  const app = next?.app;
  if (choices.vercelCron !== undefined && app === undefined) {
    const hint = "Leave out --vercel-cron, or give this project a route first.";
    throw usageError("--vercel-cron has nothing to call: there is no Next app folder here.", hint);
  }
  const target = { ...choices, esm: code.esm };
  return [
    ...(migrations === undefined ? [] : migration(migrations, target)),
    ...(migrations?.tool === "supabase" && app !== undefined ? wakeups(migrations, target) : []),
    ...(supabase?.hasConfig ? [supabaseConfig(choices.schema)] : []),
    jobsFile(project),
    clientFile(project, choices.schema),
    ...(app === undefined ? [] : [routeFile(project, app)]),
    ...(next?.webpack && packages.has("@electric-sql/pglite")
      ? [nextConfig(next, code.typescript)]
      : []),
    envExample(project),
    ...(project.hasGitignore ? [gitignore(project.envExample)] : []),
    ...(choices.vercelCron === undefined ? [] : [vercelJson(choices.vercelCron, project.vercel)]),
  ];
}
