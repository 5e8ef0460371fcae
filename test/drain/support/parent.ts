import { type ChildProcess, fork } from "node:child_process";

const drains = new URL("child.ts", import.meta.url);

/** How a process ended. */
export interface End {
  code: number | null;
  signal: NodeJS.Signals | null;
  stderr: string;
}

export interface Child {
  readonly process: ChildProcess;
  /** The first message that has this name, or the end as an error. */
  // biome-ignore lint/suspicious/noExplicitAny: each message has its own shape.
  told(name: string): Promise<any>;
  readonly messages: Record<string, unknown>[];
  readonly ended: Promise<End>;
}

/** Starts `child.ts`, or another such file, with one of its scenarios. */
export function startChild(scenario: string, url: string, argument = "", file = drains): Child {
  const child = fork(file, [scenario, url, argument], {
    execArgv: ["--expose-gc", "--import", import.meta.resolve("jiti/register")],
    silent: true,
  });
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const messages: Record<string, unknown>[] = [];
  const waiting = new Set<() => void>();
  child.on("message", (message: Record<string, unknown>) => {
    messages.push(message);
    for (const look of waiting) look();
  });
  const ended = new Promise<End>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal, stderr }));
  });
  const told = (name: string) =>
    new Promise((resolve, reject) => {
      const look = () => {
        const message = messages.find((each) => name in each);
        if (message === undefined) return;
        waiting.delete(look);
        resolve(message[name]);
      };
      waiting.add(look);
      look();
      void ended.then((end) =>
        reject(new Error(`It ended without ${name}: ${JSON.stringify(end)}`)),
      );
    });
  return { process: child, told, messages, ended };
}
