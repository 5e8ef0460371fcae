import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Fields of /proc/<pid>/stat, counted from the one behind the program's name. */
const field = { parent: 1, user: 11, system: 12, childrenUser: 13, childrenSystem: 14 } as const;

const ticksPerSecond = 100;

/**
 * The CPU seconds that a PostgreSQL server has used so far: of its backends, those that ended among
 * them, and of what writes WAL, checkpoints and vacuums. Undefined where there is no /proc.
 */
export function serverCpuSeconds(dataDir: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n")[0]);
    return processCpuSeconds(pid);
  } catch {
    return undefined;
  }
}

/** The CPU seconds that a process and its children have used so far; undefined where there is no /proc. */
export function processCpuSeconds(pid: number): number | undefined {
  try {
    return processesCpuSeconds(pid);
  } catch {
    return undefined;
  }
}

/** Of a process, of its children that live, and of those that it has buried. */
function processesCpuSeconds(pid: number): number {
  let ticks = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(Number(name));
    if (stat === undefined || stat[field.parent] !== pid) continue;
    ticks += (stat[field.user] ?? 0) + (stat[field.system] ?? 0);
  }
  const own = statOf(pid);
  if (own === undefined) throw new Error(`There is no process ${pid}.`);
  for (const each of ["user", "system", "childrenUser", "childrenSystem"] as const) {
    ticks += own[field[each]] ?? 0;
  }
  return ticks / ticksPerSecond;
}

/** Undefined where it has just ended. */
function statOf(pid: number): number[] | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return undefined;
  }
}

/** The fields behind the program's name, which may hold blanks and brackets itself. */
export function parseStat(text: string): number[] {
  return text
    .slice(text.lastIndexOf(")") + 2)
    .trim()
    .split(" ")
    .map(Number);
}
