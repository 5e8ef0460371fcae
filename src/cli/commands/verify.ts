import { command } from "../command.ts";
import { callForJson } from "../database.ts";
import { exitCodes } from "../exit-codes.ts";
import { flag } from "../option-values.ts";
import { printData, printNote } from "../output.ts";
import { type Column, formatTable } from "../table.ts";

/** What SQL's verify answers; its rules stand with it. */
interface Violation {
  readonly rule: string;
  readonly count: number;
  readonly ids: readonly string[];
}

const shownIds = 3;

const columns: readonly Column<Violation>[] = [
  ["RULE", (row) => row.rule],
  ["COUNT", (row) => row.count],
  [
    "WHICH",
    ({ ids, count }) => ids.slice(0, shownIds).join(", ") + (count > shownIds ? ", …" : ""),
  ],
];

export const verifyCommand = command({
  name: "verify",
  description:
    "Checks what must always hold, in jobs, books, rights; ends with 1 where it does not",
  async run(given) {
    const json = await callForJson(given, "verify", {});
    const { ok, violations } = JSON.parse(json) as { ok: boolean; violations: Violation[] };
    if (flag(given, "json")) printData(json);
    else if (ok) printNote("All that must hold does.");
    else printData(formatTable(columns, violations));
    return ok ? exitCodes.done : exitCodes.failed;
  },
});
