import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/*
 * The program as it is published: compiled, started as a process of its own, and installed in the
 * node_modules of a project, from where the project's modules import it.
 */

const repository = fileURLToPath(new URL("../..", import.meta.url));
const modules = join(repository, "node_modules");

let built: string | undefined;

/** The folder of the compiled package, made once for each state of src/. */
export function builtPackage(): string {
  built ??= join(realpathSync(tmpdir()), `leasehold-built-${stateOfSources()}`);
  if (existsSync(built)) return built;
  removeOldBuilds();
  const draft = `${built}.${randomBytes(4).toString("hex")}`;
  mkdirSync(draft);
  compileTo(join(draft, "dist"));
  copyFileSync(join(repository, "package.json"), join(draft, "package.json"));
  symlinkSync(modules, join(draft, "node_modules"));
  try {
    renameSync(draft, built);
  } catch {
    rmSync(draft, { recursive: true }); // another process was faster
  }
  return built;
}

/** Those of yesterday's sources; a run that is under way uses none of them. */
function removeOldBuilds(): void {
  for (const name of readdirSync(tmpdir())) {
    const folder = join(tmpdir(), name);
    if (!name.startsWith("leasehold-built-")) continue;
    const { mtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (Date.now() - mtimeMs > 86_400_000) rmSync(folder, { recursive: true, force: true });
  }
}

/** What the compiler says of types is the business of `npm run check`; it writes all the same. */
function compileTo(folder: string): void {
  const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
  const tsc = join(dirname(manifest), "bin/tsc");
  const { stdout } = spawnSync(
    process.execPath,
    [tsc, "-p", "tsconfig.build.json", "--outDir", folder],
    { cwd: repository, encoding: "utf8" },
  );
  if (!existsSync(join(folder, "cli/main.js"))) throw new Error(`Nothing was compiled: ${stdout}`);
}

function stateOfSources(): string {
  const hash = createHash("sha256").update(modules);
  const src = join(repository, "src");
  for (const file of readdirSync(src, { recursive: true, encoding: "utf8" }).sort()) {
    if (file.endsWith(".ts")) hash.update(file).update(readFileSync(join(src, file)));
  }
  return hash.digest("hex").slice(0, 16);
}

/** A project that has leasehold and zod installed. */
export interface Project {
  readonly folder: string;
  /** Writes a file, and answers its whole path. */
  write(path: string, text: string): string;
  remove(): void;
}

export function makeProject(): Project {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "leasehold-project-")));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(builtPackage(), join(folder, "node_modules", "leasehold"));
  symlinkSync(join(modules, "zod"), join(folder, "node_modules", "zod"));
  return {
    folder,
    write(path, text) {
      const file = join(folder, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export interface Ended {
  /** Null where a signal ended the process. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** The working directory. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What stands in standard input; it is empty otherwise. */
  readonly input?: string;
}

/** A process that is running. */
export interface Running {
  readonly child: ChildProcess;
  /** Resolves once the text has been written to stderr; rejects when the process ends before. */
  says(text: string): Promise<void>;
  /** What stderr has been written so far. */
  said(): string;
  readonly ended: Promise<Ended>;
}

/** Runs `leasehold` to its end. */
export function leasehold(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return startLeasehold(args, options).ended;
}

/** Starts `leasehold`, with no database configured unless `env` does. */
export function startLeasehold(args: readonly string[], options: RunOptions = {}): Running {
  const main = join(builtPackage(), "dist/cli/main.js");
  const child = spawn(process.execPath, [main, ...args], {
    cwd: options.cwd ?? tmpdir(),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...options.env },
  });
  child.stdin.on("error", () => undefined); // it may end before it has read all
  child.stdin.end(options.input);
  return running(child);
}

/** What a process says, and its end. */
export function running(child: ChildProcess): Running {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
    child.emit("said");
  });
  const ended = new Promise<Ended>((resolve) => {
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
  const says = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (stderr.includes(text)) resolve();
      };
      child.on("said", look);
      void ended.then((end) => reject(new Error(`It never said ${text}: ${JSON.stringify(end)}`)));
      look();
    });
  return { child, says, said: () => stderr, ended };
}
