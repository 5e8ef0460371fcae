import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Cleanup } from "./cleanup.ts";

/** How a process ended: by a code of its own, or by a signal. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const running = new Set<ChildProcess>();

// The last resort, on every way out: a stopped process would stay for ever, and only SIGKILL ends it.
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts a module of the example as a process of its own, with a channel for messages. */
export function start(module: string, args: readonly string[] = []): ChildProcess {
  const child = fork(fileURLToPath(new URL(`../${module}`, import.meta.url)), args);
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Resolves when the process has ended and all that it told has arrived. Call it before that. */
export async function exitOf(child: ChildProcess): Promise<Exit> {
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal };
}

/** The provider as a process, until the cleaning up. */
export async function startProvider(
  messages: number,
  slowMs: number,
  cleanup: Cleanup,
): Promise<{ url: string }> {
  const child = start("provider.ts", [`--messages=${messages}`, `--slow-ms=${slowMs}`]);
  const ended = exitOf(child);
  cleanup.add(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const first = await Promise.race([once(child, "message"), ended]);
  if (!Array.isArray(first)) throw new Error("The mail provider did not start");
  return first[0] as { url: string };
}
