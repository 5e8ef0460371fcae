import type { Argument, Given } from "../arguments.ts";
import { command } from "../command.ts";
import { jsonCalls } from "../database.ts";
import { exitCodes } from "../exit-codes.ts";
import { accountArgument, flag, integerOption } from "../option-values.ts";
import { printData } from "../output.ts";
import { readableTime } from "../readable.ts";
import { type Column, formatTable } from "../table.ts";

const args = {
  account: { type: "positional", description: "The name of an account" },
  limit: { type: "string", valueHint: "n", description: "So many entries (default: 20)" },
} as const satisfies Record<string, Argument>;

/** What SQL's credits and entries answer. */
interface Credits {
  readonly available: number;
  readonly held: number;
}
interface Entry {
  readonly at: string;
  readonly kind: string;
  readonly available_delta: number;
  readonly held_delta: number;
  readonly job_id: string | null;
  readonly reference: string | null;
}

const signed = (amount: number) => (amount > 0 ? `+${amount}` : amount === 0 ? null : `${amount}`);

const columns: readonly Column<Entry>[] = [
  ["AT", (row) => readableTime(row.at)],
  ["WHAT", (row) => row.kind],
  ["AVAILABLE", (row) => signed(row.available_delta)],
  ["HELD", (row) => signed(row.held_delta)],
  ["JOB", (row) => row.job_id],
  ["REFERENCE", (row) => row.reference],
];

export const creditsCommand = command({
  name: "credits",
  description: "Shows what an account may spend, what it holds, and its last entries",
  args,
  async run(given) {
    const { credits, entries } = await ask(given);
    if (flag(given, "json")) {
      printData(`{"credits": ${credits}, "entries": ${entries}}`);
      return exitCodes.done;
    }
    const { available, held } = JSON.parse(credits) as Credits;
    printData(`${available} available, ${held} held`);
    const { entries: rows } = JSON.parse(entries) as { entries: Entry[] };
    if (rows.length > 0) printData(`\n${formatTable(columns, rows)}`);
    return exitCodes.done;
  },
});

async function ask(given: Given): Promise<{ credits: string; entries: string }> {
  const p_account = accountArgument(given);
  const p_limit = integerOption(given, "limit", { min: 1, max: 1_000 }) ?? 20;
  const calls = jsonCalls(given);
  try {
    const credits = await calls.call("credits", { p_account });
    return { credits, entries: await calls.call("entries", { p_account, p_limit }) };
  } finally {
    await calls.close();
  }
}
