import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, resolve } from "node:path";
import { attempt } from "../../describe-error.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { startLeash } from "./leash.ts";

/** The user's command, with all that it started itself. */
export interface CommandProcess {
  /** What a shell would say: its exit code, or 128 and the signal's number. Never rejects. */
  readonly ended: Promise<number>;
  /**
   * Sends the signal to all that is left of it, once, and kills what is there after `graceMs` still.
   * Answers as `ended`.
   */
  end(signal: NodeJS.Signals, graceMs: number): Promise<number>;
}

const windows = process.platform === "win32";

/** How often it is looked whether something is left. */
const lookMs = 20;

/** What was killed is gone at once, unless the operating system is stuck with it. */
const killedWithinMs = 2_000;

/**
 * Starts a command on the terminal of this process, in a process group of its own.
 *
 * Of its own, so that a Ctrl-C reaches it once: the terminal sends it to this process alone, which
 * hands it on. And so that what the command starts (npm, a shell, then the server) is ended with it,
 * also by a helper process when this one is killed.
 *
 * Rejects with the exit code 127 where there is no such command, and 126 where it can't be run.
 */
export async function startCommand(
  [name = "", ...args]: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<CommandProcess> {
  const path = [resolve("node_modules/.bin"), env.PATH].filter(Boolean).join(delimiter);
  const child = spawn(name, args, {
    stdio: "inherit",
    detached: !windows,
    shell: windows, // npx, next and the like are scripts there
    env: { ...env, PATH: path },
  });
  await started(name, child);
  const { pid } = child as { pid: number };
  const leash = windows ? undefined : startLeash(pid);
  const ended = new Promise<number>((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? signalCode(signal)));
  });
  const kill = (): void => void send(child, pid, "SIGKILL");
  process.once("exit", kill); // at a second signal, or by a mistake of ours
  if (!windows) process.on("SIGWINCH", () => void send(child, pid, "SIGWINCH"));
  return {
    ended,
    async end(signal, graceMs) {
      send(child, pid, signal);
      await nothingLeft(child, pid, graceMs);
      kill();
      await nothingLeft(child, pid, killedWithinMs);
      process.off("exit", kill);
      leash?.release();
      return ended;
    },
  };
}

/** The exit code that stands for a signal. */
export function signalCode(signal: NodeJS.Signals | null): number {
  return 128 + (signal === null ? 0 : constants.signals[signal]);
}

function started(name: string, child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause: NodeJS.ErrnoException) => {
      const missing = cause.code === "ENOENT";
      const problem = missing
        ? `The command ${JSON.stringify(name)} is not found.`
        : `The command ${JSON.stringify(name)} can't be run: ${cause.message}.`;
      const hint =
        "Behind -- stands a program of node_modules/.bin or of PATH, then its arguments.";
      const code = missing ? exitCodes.notFound : exitCodes.notRunnable;
      reject(new CliError(code, problem, hint, { cause }));
    });
  });
}

/** Answers whether there was somebody to send it to. */
function send(child: ChildProcess, pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    if (!windows) return process.kill(-pid, signal);
    if (child.exitCode !== null || child.signalCode !== null) return false;
    if (signal !== 0) spawn("taskkill", ["/pid", String(pid), "/t", "/f"], { stdio: "ignore" });
    return true;
  } catch (error) {
    // EPERM: there is one, of another user.
    return (error as NodeJS.ErrnoException).code === "EPERM" && signal === 0;
  }
}

async function nothingLeft(child: ChildProcess, pid: number, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs;
  while (send(child, pid, 0) && performance.now() < until && livesInGroup(pid)) {
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

/**
 * Whether somebody in the group is alive. A process that has ended stays in its group until its
 * parent looks, and process 1 of many a container never does.
 */
function livesInGroup(groupId: number): boolean {
  if (process.platform !== "linux") return true;
  return readdirSync("/proc").some((name) => {
    if (!/^\d+$/.test(name)) return false;
    const stat = attempt(() => readFileSync(`/proc/${name}/stat`, "utf8")) ?? "";
    const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(group) === groupId && state !== "Z" && state !== "X";
  });
}
