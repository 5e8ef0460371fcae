import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import {
  type Binaries,
  findBinaries,
  programsIn,
  type ServerUser,
  serverUser,
  sharedFolder,
} from "./postgres-binaries.ts";

export interface PostgresServer {
  /** Of the superuser `postgres` and the database `postgres`, over TCP and without a password. */
  url: string;
  host: string;
  port: number;
  /** The folder of the Unix socket. */
  socketDir: string;
  dataDir: string;
  logFile: string;
  /** Ends all connections, stops the server and removes its folder. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Settings beside those of `testSettings`, for postgresql.conf. */
  settings?: Record<string, string>;
  /** The folder of another installation's programs; by default those of the npm package. */
  programs?: string | undefined;
}

/** Runs one of PostgreSQL's programs to its end. */
type Run = (program: string, args: string[]) => Promise<void>;

/** Fast, not durable; and in a time zone that shows every mix-up of local time and UTC. */
const testSettings = {
  fsync: "off",
  full_page_writes: "off",
  max_connections: "200",
  shared_buffers: "128MB",
  jit: "off",
  max_prepared_transactions: "0",
  timezone: "'Asia/Kathmandu'",
  log_timezone: "'UTC'",
};

/**
 * Starts a PostgreSQL of its own in a new temporary folder, on a free port of 127.0.0.1. Any number
 * can run at once. It is stopped and removed by `stop()`, and in any case when this process ends,
 * even by SIGKILL.
 */
export async function startPostgres({
  settings = {},
  programs,
}: StartOptions = {}): Promise<PostgresServer> {
  const user = serverUser();
  const binaries = programs === undefined ? findBinaries(user) : programsIn(programs);
  const folder = mkdtempSync(join(sharedFolder(), "leasehold-pg-"));
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const dataDir = join(folder, "data");
  const logFile = join(folder, "server.log");
  const run: Run = (program, args) => runAs(user, program, args);
  try {
    await run(binaries.initdb, initArguments(dataDir, programs === undefined));
    configure(dataDir, { ...testSettings, ...settings, unix_socket_directories: `'${folder}'` });
    const guard = stopWithThisProcess(binaries, dataDir, folder, user);
    const port = await startOnFreePort(run, binaries, dataDir, logFile);
    let stopped: Promise<void> | undefined;
    const stop = (): Promise<void> => {
      stopped ??= stopServer(run, binaries, dataDir).then(() => {
        rmSync(folder, { recursive: true, force: true });
        guard.stdin?.end();
      });
      return stopped;
    };
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    return { url, host: "127.0.0.1", port, socketDir: folder, dataDir, logFile, stop };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** The built-in locale, which the package has, is new in version 17. */
function initArguments(dataDir: string, isBuiltIn: boolean): string[] {
  const builtIn = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  const locale = ["--locale=C", ...(isBuiltIn ? builtIn : [])];
  const fast = ["--no-sync", "--no-instructions"];
  return ["-D", dataDir, "-U", "postgres", "-A", "trust", "-E", "UTF8", ...locale, ...fast];
}

function configure(dataDir: string, settings: Record<string, string>): void {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  appendFileSync(join(dataDir, "postgresql.conf"), lines.join(""));
}

function stopServer(run: Run, { pg_ctl }: Binaries, dataDir: string): Promise<void> {
  return run(pg_ctl, ["stop", "-w", "-s", "-D", dataDir, "-m", "fast"]);
}

/** Another process may take the port between the look and the start; then another is tried. */
async function startOnFreePort(
  run: Run,
  { pg_ctl }: Binaries,
  dataDir: string,
  logFile: string,
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const options = `-c listen_addresses=127.0.0.1 -c port=${port}`;
    try {
      await run(pg_ctl, ["start", "-w", "-s", "-D", dataDir, "-l", logFile, "-o", options]);
      return port;
    } catch (error) {
      const log = readFileSync(logFile, "utf8");
      if (attempt === 10 || !log.includes("Address already in use")) {
        throw new Error(`PostgreSQL did not start:\n${log}`, { cause: error });
      }
      rmSync(logFile);
    }
  }
}

/** A port of 127.0.0.1 that nobody listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

/**
 * A shell that waits for the end of its input, which comes when this process ends in whatever way,
 * and then stops the server and removes its folder. Detached, so that Ctrl-C does not reach it.
 */
function stopWithThisProcess(
  { pg_ctl }: Binaries,
  dataDir: string,
  folder: string,
  user: ServerUser,
): ChildProcess {
  const script = 'cat >/dev/null; "$1" stop -w -s -D "$2" -m immediate; rm -rf "$3"';
  const guard = spawn("/bin/sh", ["-c", script, "sh", pg_ctl, dataDir, folder], {
    ...user,
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  return guard;
}

/** Runs a program as the server's user; its group is its own, so that Ctrl-C does not reach it. */
export function runAs(user: ServerUser, program: string, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...user,
      cwd: "/",
      detached: true,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let errors = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      errors += chunk.toString();
    });
    child.once("error", reject);
    child.once("exit", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${program} ended with ${code}: ${errors}`));
    });
  });
}
