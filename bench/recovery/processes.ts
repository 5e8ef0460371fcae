import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ChildSettings } from "./child.ts";

interface Began {
  readonly id: string;
  readonly generation: number;
  /** In milliseconds since 1970. */
  readonly at: number;
}

interface Listens {
  readonly listening: boolean;
  readonly at: number;
}

/** A process that runs jobs. */
export interface JobProcess {
  readonly began: readonly Began[];
  /** Each change of whether it listens. */
  readonly listens: readonly Listens[];
  /** Ends it by SIGKILL; answers when. */
  kill(): number;
}

const child = fileURLToPath(new URL("child.ts", import.meta.url));
const running = new Set<JobProcess>();

export function startProcess(settings: ChildSettings): JobProcess {
  const args = ["--import", import.meta.resolve("jiti/register"), child, JSON.stringify(settings)];
  const started = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const began: Began[] = [];
  const listens: Listens[] = [];
  started.on("message", (message: { began?: Began; listens?: Listens }) => {
    if (message.began) began.push(message.began);
    if (message.listens) listens.push(message.listens);
  });
  const own: JobProcess = {
    began,
    listens,
    kill() {
      running.delete(own);
      started.kill("SIGKILL");
      return Date.now();
    },
  };
  running.add(own);
  return own;
}

/** Kills what is still there of all that were started. */
export function killAll(): void {
  for (const each of running) each.kill();
}

/** Asks every few milliseconds until there is an answer. Throws after six minutes: a lease and more. */
export async function until<T>(ask: () => T | Promise<T>, what: string): Promise<NonNullable<T>> {
  for (const end = Date.now() + 360_000; Date.now() < end; ) {
    const answer = await ask();
    if (answer) return answer;
    await pause(5);
  }
  throw new Error(`Not within six minutes: ${what}`);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
