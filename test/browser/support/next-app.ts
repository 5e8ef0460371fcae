import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";

/** A Next application in a folder of its own, with the packed leasehold in its node_modules. */
export interface NextApp {
  readonly folder: string;
  /** `next build`; answers what it printed, and rejects with that where it fails. */
  build(options?: BuildOptions): Promise<string>;
  remove(): void;
}

export interface BuildOptions {
  /** Next's default is Turbopack. */
  bundler?: "turbopack" | "webpack";
  env?: Record<string, string>;
}

/** Telemetry would ask a host. */
export const nextEnv = { NEXT_TELEMETRY_DISABLED: "1" };

const run = promisify(execFile);

const root = join(import.meta.dirname, "../../..");

const buildWithinMs = 300_000;

/**
 * Copies the application in `source` (from the root of the repository) to a folder of its own and
 * installs its packages as its lock file has them, and leasehold as it would be published. No symlinks:
 * bundlers treat those differently. The packages are installed once in a run and copied from then on.
 * `without` are packages that are then taken away.
 */
export async function installApp(
  source: string,
  { without = [] }: { without?: readonly string[] } = {},
): Promise<NextApp> {
  const { RIG_FOLDER = "", LEASEHOLD_TARBALL = "" } = process.env;
  if (!LEASEHOLD_TARBALL) throw new Error("Run this with npm run test:next");
  const from = join(root, source);
  const installed = join(RIG_FOLDER, `installed-${basename(source)}`);
  if (!existsSync(installed)) await install(from, installed, LEASEHOLD_TARBALL);
  const folder = mkdtempSync(join(RIG_FOLDER, "app-"));
  cpSync(installed, folder, { recursive: true, verbatimSymlinks: true });
  for (const name of without) rmSync(join(folder, "node_modules", name), { recursive: true });
  return {
    folder,
    build: (options) => build(folder, options),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }),
  };
}

/** Takes its name only when complete: an installation that failed must not pass for one. */
async function install(source: string, target: string, tarball: string): Promise<void> {
  const folder = `${target}.part`;
  const filter = (path: string): boolean => !/[/\\](node_modules|\.next|\.leasehold)$/.test(path);
  cpSync(source, folder, { recursive: true, filter });
  const description = join(folder, "package.json");
  const { dependencies, ...others } = JSON.parse(readFileSync(description, "utf8"));
  const own = { ...others, dependencies: { ...dependencies, leasehold: `file:${tarball}` } };
  writeFileSync(description, JSON.stringify(own, null, 2));
  await run("npm", ["install", "--no-audit", "--no-fund", "--silent"], { cwd: folder });
  renameSync(folder, target);
}

async function build(folder: string, { bundler, env }: BuildOptions = {}): Promise<string> {
  const args = [join(folder, "node_modules/next/dist/bin/next"), "build"];
  if (bundler !== undefined) args.push(`--${bundler}`);
  try {
    const { stdout, stderr } = await run(process.execPath, args, {
      cwd: folder,
      env: { ...process.env, ...nextEnv, NODE_ENV: "production", ...env },
      timeout: buildWithinMs,
    });
    return stdout + stderr;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`next build failed:\n${stdout}${stderr}`, { cause: error });
  }
}
