import type { FunctionName } from "./functions.ts";

/**
 * The functions that wait for nobody's transaction and have little to do: they pass over rows that
 * somebody holds, or touch rows that no caller's transaction keeps. An answer that stays away is
 * therefore the connection's fault, or the server's, and not a lock's.
 *
 * Not among them: those that wait for a job's row, a key or an account (a caller may hold these for
 * as long as its transaction takes), and those that may have much to read or to delete.
 */
export const unwaitingFunctions = [
  "claim",
  "claim_job",
  "extend",
  "extend_many",
  "finish_many",
  "finish_and_claim",
  "status",
  "has_due_work",
  "every",
  "reap",
  "worker_beat",
  "worker_echo",
  "worker_recover",
  "worker_stop",
  "step_load",
  "step_names",
  "cache_begin",
  "claim_alerts",
  "finish_alerts",
  "schema_version",
] as const satisfies readonly FunctionName[];

const unwaiting: ReadonlySet<FunctionName> = new Set(unwaitingFunctions);

/** How long such a call may go without an answer before its connection is given up. */
export const silentMs = 30_000;

/** Whether a call of this function waits for nobody. */
export function waitsForNobody(name: FunctionName): boolean {
  return unwaiting.has(name);
}
