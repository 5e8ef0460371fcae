import { spawn } from "node:child_process";
import type { NodeCommand } from "./node.ts";

/** What a script said to its parent, and when it was started, by the machine's monotonic clock. */
export interface Said<T> {
  readonly said: T;
  readonly spawnedMs: number;
}

/**
 * Runs a script of its own to its end, its one argument as JSON; it answers by one message. Rejects
 * with what it printed where it ends otherwise.
 */
export function runScript<T>(node: NodeCommand, file: URL, given: object): Promise<Said<T>> {
  return new Promise((resolve, reject) => {
    const args = [...node.arguments, file.pathname, JSON.stringify(given)];
    const spawnedMs = Number(process.hrtime.bigint()) / 1e6;
    const script = spawn(node.program, args, {
      env: { ...process.env, NODE_NO_WARNINGS: "1" },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    let printed = "";
    let said: T | undefined;
    script.stdout?.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
    });
    script.stderr?.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
    });
    script.on("message", (message) => {
      said = message as T;
    });
    script.once("error", reject);
    script.once("close", (code, signal) => {
      if (code === 0 && said !== undefined) resolve({ said, spawnedMs });
      else reject(new Error(`${file.pathname} ended with ${code ?? signal}:\n${printed}`));
    });
  });
}
