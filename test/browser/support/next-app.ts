import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { onceInRun } from "./once.ts";

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
  const installed = await onceInRun(`installed-${basename(source)}`, async () => {
    const target = join(RIG_FOLDER, `installed-${basename(source)}`);
    await install(from, target, LEASEHOLD_TARBALL);
    return target;
  });
  const folder = mkdtempSync(join(RIG_FOLDER, "app-"));
  cpSync(installed, folder, { recursive: true, verbatimSymlinks: true });
  for (const name of without) rmSync(join(folder, "node_modules", name), { recursive: true });
  return {
    folder,
    build: (options) => build(folder, options),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }),
  };
}

async function install(source: string, folder: string, tarball: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true }); // of one that failed
  const filter = (path: string): boolean => !/[/\\](node_modules|\.next|\.leasehold)$/.test(path);
  cpSync(source, folder, { recursive: true, filter });
  const description = join(folder, "package.json");
  const { dependencies, ...others } = JSON.parse(readFileSync(description, "utf8"));
  const own = { ...others, dependencies: { ...dependencies, leasehold: `file:${tarball}` } };
  writeFileSync(description, JSON.stringify(own, null, 2));
  await run("npm", ["install", "--no-audit", "--no-fund", "--silent"], { cwd: folder });
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
