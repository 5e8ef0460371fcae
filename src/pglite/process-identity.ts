import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/**
 * Which process this is, such that another one with the same pid later is told apart: a pid alone
 * is used again, in containers at once (the server is process 1 after each restart).
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** When the process began, in a form that is only compared; null where it can't be read. */
  readonly started: string | null;
  readonly hostname: string;
}

/** The identity of this process. */
export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, started: startOf(process.pid) ?? null, hostname: hostname() };
}

/**
 * Whether that process runs on this machine. When in doubt it does: where start times can't be read
 * (Windows, a hidden /proc), any process with its pid counts.
 */
export function isRunning({ pid, started }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // there, but another user's
  }
  const now = startOf(pid);
  return now === undefined || started === null || now === started;
}

/** Whether that process is on another machine or in another container, where we can't see it. */
export function isElsewhere(identity: ProcessIdentity): boolean {
  return identity.hostname !== hostname();
}

function startOf(pid: number): string | undefined {
  try {
    if (process.platform === "linux") return startFromProc(pid);
    if (process.platform === "win32") return undefined;
    const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
    const text = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], {
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return text.trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Boot and clock ticks since then (field 22); the name, field 2, may itself hold parentheses. */
function startFromProc(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // A zombie holds nothing any more; it only waits for its parent to look.
  if (fields[0] === "Z" || fields[0] === "X") return "ended";
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return `${boot}/${fields[19]}`;
}
