import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ChildSettings } from "./child.ts";

/** What a child tells, by name; see `child.ts`. */
interface Messages {
  readonly ready: true;
  readonly began: { readonly id: string; readonly generation: number };
  readonly returned: { readonly id: string };
  readonly aborted: { readonly id: string; readonly because: string };
  readonly tried: { readonly id: string; readonly generation: number; readonly late: object };
  /** `at` by `performance.now()` of this process. */
  readonly completed: { readonly id: string; readonly generation: number; readonly at: number };
  readonly lost: { readonly id: string; readonly generation: number };
  readonly trouble: string;
}

/** A worker in a process of its own. */
export interface WorkerProcess {
  readonly pid: number;
  /** All messages of one name so far. */
  toldOf<Name extends keyof Messages>(name: Name): Messages[Name][];
  /** Lets a handler that holds a job go on. */
  goOn(id: string): void;
  /** Ends it at once, by SIGKILL. */
  kill(): Promise<void>;
}

const child = fileURLToPath(new URL("child.ts", import.meta.url));

/** Starts a worker; `inside` is a command that runs another one somewhere else. */
export function startWorkerProcess(
  settings: ChildSettings,
  inside: readonly string[] = [],
): WorkerProcess {
  const node = [process.execPath, "--import", import.meta.resolve("jiti/register")];
  const [command = "", ...args] = [...inside, ...node, child, JSON.stringify(settings)];
  const started = spawn(command, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const messages: Partial<Messages>[] = [];
  started.on("message", (message: Partial<Messages>) => {
    if (message.completed) Object.assign(message.completed, { at: performance.now() });
    messages.push(message);
  });
  const ended = endOf(started);
  return {
    pid: started.pid ?? 0,
    toldOf: (name) => messages.flatMap((each) => (name in each ? [each[name] as never] : [])),
    goOn: (id) => void started.send({ goOn: id }),
    async kill() {
      started.kill("SIGKILL");
      await ended;
    },
  };
}

function endOf(started: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    started.once("close", () => resolve());
    started.once("error", () => resolve());
  });
}
