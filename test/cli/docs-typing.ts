import { spawn } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { blocksOf } from "../support/docs.ts";
import { builtPackage, type Ended, type Project, type Running, running } from "./binary.ts";
import type { Line } from "./docs-commands.ts";
import { filledIn, recipeOf, type Surroundings } from "./docs-recipes.ts";
import { mixed } from "./handlers.ts";
import { manifest, nextProject } from "./init-project.ts";

/** Which database is there for a line, and the secret of its drain. */
export type Variables = Readonly<Partial<Record<"DATABASE_URL" | "CRON_SECRET", string>>>;

/** Runs a line in a project, to its end; what runs on is told to end once it has begun. */
export async function type(
  line: Line,
  project: Project,
  surroundings: Surroundings,
  env: Variables,
): Promise<Ended> {
  const recipe = recipeOf(line);
  const typed = filledIn(line.code, recipe, surroundings);
  prepare(project, line.page, typed);
  const started = startInShell(typed, project, env);
  try {
    if (recipe.begun !== undefined) {
      await Promise.race([recipe.begun(started, typed, surroundings), started.ended]);
      started.child.kill("SIGTERM");
    }
    return await started.ended;
  } finally {
    started.child.kill("SIGKILL");
    await started.ended;
  }
}

/** What `next dev` is for a command that starts it. */
const next = '#!/bin/sh\necho "next is ready" >&2\nexec sleep 600\n';

/**
 * Makes it a project of Next's, with an npx that finds the compiled program, and with the modules that
 * the page shows or the line names.
 */
function prepare(project: Project, page: string, line: string): void {
  for (const [path, text] of Object.entries(nextProject)) project.write(path, text);
  project.write("package.json", manifest({ next: "16.4.3" }, { scripts: { dev: "next dev" } }));
  for (const [path] of line.matchAll(/[\w./-]+\.(ts|js|mjs)\b/g)) project.write(path, mixed);
  for (const { code } of blocksOf(page)) {
    const [, path] = /^\/\/ (\w+\.mjs)$/m.exec(code) ?? [];
    if (path !== undefined) project.write(path, code);
  }
  const main = join(builtPackage(), "dist/cli/main.js");
  const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" "${main}" "$@"\n`;
  for (const program of [
    project.write("bin/npx", npx),
    project.write("node_modules/.bin/next", next),
  ]) {
    chmodSync(program, 0o755);
  }
  const [, output] = / > (\S+)/.exec(line) ?? [];
  if (output) mkdirSync(dirname(join(project.folder, output)), { recursive: true });
}

/** As one types it; in place of the shell, so that what the shell is sent reaches the program. */
function startInShell(line: string, { folder }: Project, env: Variables): Running {
  const { PATH, HOME } = process.env;
  const typed = line.replace("npx leasehold", "exec npx leasehold");
  const child = spawn("/bin/sh", ["-c", typed], {
    cwd: folder,
    env: { PATH: `${join(folder, "bin")}:${PATH}`, HOME, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return running(child);
}
