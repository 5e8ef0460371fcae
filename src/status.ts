import type { Database } from "./database.ts";
import { invalidArgument } from "./errors.ts";
import { knownOptions, text } from "./options.ts";
import type { JobStatus } from "./queue.ts";
import { isJobId } from "./text-forms.ts";

/** Whose job it must be. Without `owner` any job is answered: for trusted code alone. */
export interface OwnerOptions {
  owner?: string;
}

/**
 * What became of a job's money: of its credits `held`, `captured`, `given_back`, `refunded`; of a ledger
 * elsewhere `checking` (it is being asked), `not_charged`, `charged`, `refunded`, `unknown`.
 */
export type JobMoney =
  | "held"
  | "captured"
  | "given_back"
  | "refunded"
  | "checking"
  | "charged"
  | "not_charged"
  | "unknown";

/** A job as `status` shows it. Times are ISO 8601 in UTC. */
export interface JobState {
  readonly id: string;
  readonly kind: string;
  readonly status: JobStatus;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly generation: number;
  readonly progress: unknown;
  readonly result: unknown;
  readonly errorCode: string | null;
  readonly cancelRequested: boolean;
  /** What became of the money; null where the job has none. */
  readonly money: JobMoney | null;
  /** What to tell the person who waits, as a code. */
  readonly notice: string;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

export interface CancelAnswer {
  readonly outcome: "cancelled" | "requested" | "finished" | "unknown";
  readonly status: JobStatus | null;
}

export interface RetryAnswer {
  readonly outcome:
    | "retried"
    | "conflict"
    /** Too little is available for a new hold of the job's cost. */
    | "insufficient"
    /** Its ledger is being asked: try again when that is known. */
    | "money_unsettled"
    | "wrong_status"
    | "unknown";
  readonly id: string | null;
  readonly status: JobStatus | null;
}

export async function status(
  database: Database,
  id: string,
  options: OwnerOptions = {},
): Promise<JobState | null> {
  const owner = ownerOf("status", id, options);
  // What is no id is the id of no job; the answer must not tell the two apart.
  if (!isJobId(id)) return null;
  const row = (await database.call("status", { p_id: id, ...owner })) as Record<
    string,
    unknown
  > | null;
  return row === null ? null : camelCase<JobState>(row);
}

export async function cancel(
  database: Database,
  id: string,
  options: OwnerOptions = {},
): Promise<CancelAnswer> {
  const owner = ownerOf("cancel", id, options);
  if (!isJobId(id)) return { outcome: "unknown", status: null };
  return (await database.call("cancel", { p_id: id, ...owner })) as CancelAnswer;
}

export async function retry(
  database: Database,
  id: string,
  options: OwnerOptions = {},
): Promise<RetryAnswer> {
  const owner = ownerOf("retry", id, options);
  if (!isJobId(id)) return { outcome: "unknown", id: null, status: null };
  return (await database.call("retry", { p_id: id, ...owner })) as RetryAnswer;
}

/** An `owner` that is given but undefined is a mistake of the caller's, never "everyone's". */
function ownerOf(where: string, id: unknown, options: OwnerOptions): { p_owner?: string } {
  if (typeof id !== "string") throw invalidArgument("id", id, "the id of a job, as text");
  knownOptions(where, options, ["owner"]);
  if (!("owner" in options)) return {};
  return { p_owner: text("owner", options.owner, { maxBytes: 500 }) };
}

/** The names of a row in the words of TypeScript; what they name stays as it is. */
export function camelCase<T>(row: object): T {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  ) as T;
}
