import { command } from "../command.ts";
import { callForJson } from "../database.ts";
import { exitCodes } from "../exit-codes.ts";
import { flag } from "../option-values.ts";
import { printData, printNote } from "../output.ts";
import { type Column, formatTable } from "../table.ts";

interface Violation {
  readonly rule: string;
  readonly account: string | null;
  readonly job_id: string | null;
  readonly detail: unknown;
}

const columns: readonly Column<Violation>[] = [
  ["RULE", (row) => row.rule],
  ["ACCOUNT", (row) => row.account],
  ["JOB", (row) => row.job_id],
  ["FOUND", (row) => JSON.stringify(row.detail)],
];

export const verifyCreditsCommand = command({
  name: "verify-credits",
  description: "Checks that the books of all accounts balance; ends with 1 where they do not",
  async run(given) {
    const json = await callForJson(given, "verify_credits", {});
    const { ok, violations } = JSON.parse(json) as { ok: boolean; violations: Violation[] };
    if (flag(given, "json")) printData(json);
    else if (ok) printNote("The books balance.");
    else printData(formatTable(columns, violations));
    return ok ? exitCodes.done : exitCodes.failed;
  },
});
