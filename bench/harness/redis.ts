import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../test/support/postgres-server.ts";

/** A Redis for the rivals that need one. Whether it writes to the disk, each sets for itself. */
export interface Redis {
  readonly url: string;
  readonly pid: number;
  /** For the results. */
  readonly description: string;
  stop(): Promise<void>;
}

/** Undefined where no `redis-server` is on the PATH. */
export async function startRedis(): Promise<Redis | undefined> {
  const version = spawnSync("redis-server", ["--version"], { encoding: "utf8" });
  if (version.status !== 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "leasehold-redis-"));
  const port = await freePort();
  const server = spawn(
    "redis-server",
    ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""],
    { detached: true, stdio: ["ignore", "pipe", "pipe"] },
  );
  await ready(server);
  const pid = server.pid as number;
  const guard = stopWithThisProcess(pid, folder);
  return {
    url: `redis://127.0.0.1:${port}`,
    pid,
    description: `Redis ${/v=(\S+)/.exec(version.stdout)?.[1]}`,
    async stop() {
      const ended = new Promise((resolve) => server.once("exit", resolve));
      server.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
      guard.stdin?.end();
    },
  };
}

function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let printed = "";
    server.stdout?.on("data", (chunk: Buffer) => {
      printed = (printed + chunk.toString()).slice(-4_000);
      if (printed.includes("Ready to accept connections")) resolve();
    });
    server.once("error", reject);
    server.once("exit", () => reject(new Error(`redis-server ended:\n${printed}`)));
  });
}

/** As the PostgreSQL of the tests has one: a shell whose input ends when this process does. */
function stopWithThisProcess(pid: number, folder: string): ChildProcess {
  const script = 'cat >/dev/null; kill "$1" 2>/dev/null; rm -rf "$2"';
  const guard = spawn("/bin/sh", ["-c", script, "sh", String(pid), folder], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  return guard;
}
