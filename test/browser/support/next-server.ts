import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { freePort } from "../../support/postgres-server.ts";
import { nextEnv } from "./next-app.ts";

/** A running Next, in a process group of its own. */
export interface NextServer {
  readonly url: string;
  readonly pid: number;
  /** What it has printed so far. */
  output(): string;
  /** The exit code, or the signal that ended it. */
  readonly exited: Promise<number | string>;
  /** Sends `signal` to the server's process alone, as a platform does. */
  signal(signal: NodeJS.Signals): void;
  /** Ends the whole group at once, and waits for that. */
  kill(): Promise<void>;
}

export interface ServeOptions {
  /** "start" needs a build, "standalone" one with `output: "standalone"`. Default "start". */
  mode?: "start" | "dev" | "standalone";
  /** A command that starts Next itself, in place of `mode`, such as ["npm", "run", "dev", "--"]. */
  command?: readonly string[];
  env?: Record<string, string>;
  /** A path that answers once the server is ready. Default "/". */
  ready?: string;
}

/**
 * Next hangs up on who is silent for 5 s, at the very moment perhaps when a busy test asks again: "fetch
 * failed: other side closed".
 */
const keepAliveMs = "60000";

/** `next dev` compiles the page that is asked for, on a machine that may be busy. */
const readyWithinMs = 120_000;

const running = new Set<NextServer>();
process.on("exit", () => {
  for (const { pid } of running) endGroup(pid);
});

/** Starts Next in `folder` on a free port, and waits until it answers. */
export async function serve(
  folder: string,
  { mode = "start", command, env = {}, ready = "/" }: ServeOptions = {},
): Promise<NextServer> {
  const port = String(await freePort());
  const next = join(folder, "node_modules/next/dist/bin/next");
  const standalone = mode === "standalone";
  const place = ["-p", port, "-H", "127.0.0.1"];
  const [program = "", ...args] = standalone
    ? [process.execPath, join(folder, "server.js")]
    : [...(command ?? [process.execPath, next, mode]), ...place];
  if (command === undefined && mode === "start") args.push("--keepAliveTimeout", keepAliveMs);
  const { NODE_ENV: _, ...inherited } = process.env;
  const child = spawn(program, args, {
    cwd: folder,
    detached: true,
    env: {
      ...inherited,
      ...nextEnv,
      ...(standalone && { PORT: port, HOSTNAME: "127.0.0.1", KEEP_ALIVE_TIMEOUT: keepAliveMs }),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const server = serverOf(child, `http://127.0.0.1:${port}`);
  running.add(server);
  try {
    await untilReady(server, ready);
    return server;
  } catch (error) {
    await server.kill();
    throw error;
  }
}

function serverOf(child: ChildProcess, url: string): NextServer {
  const { pid } = child;
  if (pid === undefined) throw new Error("Next did not start");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const exited = new Promise<number | string>((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "unknown"));
  });
  const server: NextServer = {
    url,
    pid,
    output: () => output,
    exited,
    signal: (signal) => void child.kill(signal),
    async kill() {
      endGroup(pid);
      await exited;
      running.delete(server);
    },
  };
  return server;
}

/** Next's own children too; a group that is gone is fine. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {}
}

async function untilReady(server: NextServer, path: string): Promise<void> {
  let ended: number | string | undefined;
  void server.exited.then((how) => {
    ended = how;
  });
  for (const end = performance.now() + readyWithinMs; performance.now() < end; ) {
    if (ended !== undefined) throw new Error(`Next ended (${ended}):\n${server.output()}`);
    const answer = await fetch(server.url + path).catch(() => undefined);
    if (answer !== undefined && answer.status < 500) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Next does not answer:\n${server.output()}`);
}
