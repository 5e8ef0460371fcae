import type { Check } from "./expectations.ts";
import { type Column, formatTable } from "./report/table.ts";
import { oneLine, padEnd } from "./report/text.ts";

/** One line of the final table: what became of one message. */
export interface ReportRow {
  readonly message: string;
  readonly scenario: string;
  readonly attempts: number;
  readonly generation: number;
  readonly outcome: string;
  readonly why: string;
}

const columns: readonly Column<ReportRow>[] = [
  { title: "message", value: (row) => row.message },
  { title: "scenario", value: (row) => row.scenario },
  { title: "attempts", value: (row) => row.attempts },
  { title: "generation", value: (row) => row.generation },
  { title: "outcome", value: (row) => row.outcome },
  { title: "why", value: (row) => row.why },
];

export interface Report {
  heading(text: string): void;
  note(text: string): void;
  /** One thing that has just happened: who, about which message, what. */
  progress(who: string, message: string, what: string): void;
  table(rows: readonly ReportRow[]): void;
  /** Prints each expectation and whether it held; answers whether all did. */
  checks(checks: readonly Check[]): boolean;
}

/** What the report needs of `process.stdout`. */
export interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * Prints lines and nothing but lines, in a terminal and in a log file alike: no line is drawn over,
 * so nothing that happened is lost. Colours only in a terminal, and not when NO_COLOR is set.
 */
export function createReport(
  output: Output = process.stdout,
  env: Record<string, string | undefined> = process.env,
): Report {
  const coloured = output.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  const paint = (code: number, text: string): string =>
    coloured ? `\u001b[${code}m${text}\u001b[0m` : text;
  const print = (text: string): void => void output.write(`${text}\n`);
  const startedAt = performance.now();
  return {
    heading: (text) => print(`\n${paint(1, text)}`),
    note: (text) => print(text),
    progress: (who, message, what) => {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(6);
      const line = `${padEnd(oneLine(who), 10)} ${padEnd(oneLine(message), 10)} ${oneLine(what)}`;
      print(`${paint(2, `${seconds} s`)}  ${line}`);
    },
    table: (rows) => {
      const [title = "", rule = "", ...lines] = formatTable(columns, rows);
      print(paint(1, title));
      print(rule);
      for (const line of lines) print(line);
    },
    checks: (checks) => {
      for (const { held, expectation, found } of checks) {
        print(`${held ? paint(32, "  ok  ") : paint(31, " FAIL ")} ${expectation}`);
        if (found !== "") for (const line of found.split("\n")) print(`         ${oneLine(line)}`);
      }
      return checks.every(({ held }) => held);
    },
  };
}
