import type { Argument, Given } from "./arguments.ts";
import { callForJson } from "./database.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { usageError } from "./failure.ts";
import { flag, jobId, textOption } from "./option-values.ts";
import { printData, printNote } from "./output.ts";

/** The arguments of a command that does one thing to some jobs. */
export const bulkArgs = {
  "id…": { type: "positional", description: "The ids of one or more jobs" },
  owner: { type: "string", valueHint: "text", description: "Only jobs of this owner" },
} as const satisfies Record<string, Argument>;

/** How the outcomes of a bulk function are told. */
export interface BulkTexts {
  /** Of its counts, by their names in the answer. */
  readonly done: Readonly<Record<string, string>>;
  /** Of an outcome under `skipped`. */
  readonly skipped: Readonly<Record<string, string>>;
}

const maxIds = 10_000;

/**
 * Calls `retry_many` or `cancel_many` for the ids given; also for a single one, so that programs
 * find the same answer however many they give.
 */
export async function callBulk(
  given: Given,
  name: "retry_many" | "cancel_many",
  texts: BulkTexts,
): Promise<ExitCode> {
  const ids = [...new Set(given.positionals.map((id) => jobId("ID", id)))];
  if (ids.length > maxIds) {
    throw usageError(`${ids.length} ids are too many.`, `Give at most ${maxIds} at a time.`);
  }
  const filter = { ids, owner: textOption(given, "owner"), limit: ids.length };
  const json = await callForJson(given, name, { p_filter: filter });
  const { skipped, ...counts } = JSON.parse(json) as Answer;
  if (flag(given, "json")) printData(json);
  else {
    for (const [count, number] of Object.entries(counts)) {
      if (number !== 0) printData(`${number} ${texts.done[count] ?? count}`);
    }
  }
  for (const { id, outcome } of skipped) {
    printNote(`leasehold: ${id}: ${texts.skipped[outcome] ?? outcome}`);
  }
  return skipped.length === 0 ? exitCodes.done : exitCodes.refused;
}

type Answer = { skipped: { id: string; outcome: string }[] } & { [count: string]: unknown };
