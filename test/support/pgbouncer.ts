import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { serverUser, sharedFolder } from "./postgres-binaries.ts";
import { freePort } from "./postgres-server.ts";

const places = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"];

/** The installed PgBouncer; undefined where there is none. */
export const pgBouncerBinary = places.find((place) => existsSync(place));

export interface PgBouncer {
  /** The URL of the same database through the pooler. */
  url(direct: string): string;
  stop(): Promise<void>;
}

/**
 * Starts a PgBouncer in front of a server, as hosted ones run: transaction mode, here with two server
 * connections.
 */
export async function startPgBouncer(direct: string): Promise<PgBouncer> {
  if (pgBouncerBinary === undefined) throw new Error("PgBouncer is not installed");
  const { hostname, port: serverPort, username } = new URL(direct);
  const port = await freePort();
  const folder = mkdtempSync(join(sharedFolder(), "leasehold-pgbouncer-"));
  chmodSync(folder, 0o755);
  const config = join(folder, "pgbouncer.ini");
  writeFileSync(config, configuration({ hostname, serverPort, username, port }));
  const child = spawn(pgBouncerBinary, ["-q", config], { ...serverUser(), stdio: "ignore" });
  const stopWithUs = (): unknown => child.kill("SIGKILL");
  process.once("exit", stopWithUs);
  await listening(child, port);
  return {
    url(url) {
      const through = new URL(url);
      through.hostname = "127.0.0.1";
      through.port = String(port);
      return through.href;
    },
    stop: () =>
      new Promise((resolve) => {
        process.off("exit", stopWithUs);
        child.once("exit", () => {
          rmSync(folder, { recursive: true, force: true });
          resolve();
        });
        child.kill("SIGKILL");
      }),
  };
}

interface Addresses {
  hostname: string;
  serverPort: string;
  username: string;
  port: number;
}

function configuration({ hostname, serverPort, username, port }: Addresses): string {
  return `[databases]
* = host=${hostname} port=${serverPort || 5432} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
`;
}

/** Resolves once it accepts connections. */
async function listening(child: ChildProcess, port: number): Promise<void> {
  for (let tries = 0; !(await accepts(port)); tries += 1) {
    if (child.exitCode !== null || tries > 1_000) throw new Error("PgBouncer did not start");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("close", () => socket.destroy());
    socket.once("connect", () => socket.end());
  });
}
