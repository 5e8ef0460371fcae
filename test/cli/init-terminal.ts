import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { builtPackage } from "./binary.ts";

/** Whether there is util-linux' `script`, which runs a program in a terminal of its own. */
export const hasScript = spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0;

/** `leasehold init` in a terminal. */
export interface InTerminal {
  /** Resolves once this was printed behind what was answered last; rejects when it ends before. */
  says(text: string): Promise<void>;
  type(text: string): void;
  /** The exit code. */
  readonly ended: Promise<number | null>;
  /** All that was printed, without what moves the cursor. */
  printed(): string;
}

export function initInTerminal(folder: string): InTerminal {
  const main = join(builtPackage(), "dist/cli/main.js");
  const command = `"${process.execPath}" "${main}" init`;
  const { PATH, HOME } = process.env;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    cwd: folder,
    env: { PATH, HOME, TERM: "xterm", COLUMNS: "120", SHELL: "/bin/sh" },
  });
  let output = "";
  let answered = 0;
  child.stdout.on("data", (chunk) => {
    output += chunk;
    child.emit("printed");
  });
  const ended = new Promise<number | null>((resolve) => {
    child.once("close", resolve);
  });
  return {
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (output.includes(text, answered)) resolve();
        };
        child.on("printed", look);
        void ended.then((code) =>
          reject(new Error(`It ended (${code}) without ${text}:\n${output}`)),
        );
        look();
      }),
    type(text) {
      answered = output.length;
      child.stdin.write(text);
    },
    ended,
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what moves the cursor.
    printed: () => output.replaceAll("\r\n", "\n").replaceAll(/\u001b\[[\d;?]*[A-Za-z]/g, ""),
  };
}
