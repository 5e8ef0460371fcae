import type { BenchmarkResults, CaseResults, Omission } from "../harness/results.ts";
import { shown } from "./numbers.ts";
import { figuresOf, type Summary, summaries } from "./summary.ts";

/** A markdown table; what stands between the pipes is made harmless. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/**
 * The medians of one figure, or of the first one of each case: a row a case, a column a contender.
 * What is missing is said in the notes below the table.
 */
export function benchmarkTable(
  { name, cases }: BenchmarkResults,
  contenders: readonly string[],
  omitted: readonly Omission[],
): string {
  const columns = contenders.filter((each) =>
    cases.some(({ measured }) => measured.some(({ contender }) => contender === each)),
  );
  const rows: string[][] = [];
  const notes: string[] = [];
  for (const each of cases) {
    for (const figure of figuresOf(each)) {
      const own = summaries(each, figure.name);
      const cells = columns.map((column) =>
        cell(own.find(({ contender }) => contender === column)),
      );
      rows.push([`${each.name}: ${figure.name}`, figure.unit, ...cells]);
      notes.push(...notesOf(each, own));
    }
  }
  const left = omitted.filter(({ benchmark }) => benchmark === name);
  for (const { case: where, contender, reason } of left) {
    notes.push(`${contender}${where && `, ${where}`}: not measured, ${reason}.`);
  }
  const table = markdownTable(["", "unit", ...columns], rows);
  return notes.length === 0 ? table : `${table}\n\n${notes.map((note) => `- ${note}`).join("\n")}`;
}

/** The median, and what the rounds went from and to. */
function cell(summary: Summary | undefined): string {
  if (summary === undefined) return "–";
  const { rounds } = summary;
  const value = `**${shown(summary.median)}**${summary.notes.length > 0 ? "*" : ""}`;
  if (rounds.length === 1) return value;
  return `${value} (${shown(Math.min(...rounds))} – ${shown(Math.max(...rounds))})`;
}

function notesOf({ name }: CaseResults, own: readonly Summary[]): string[] {
  return own.flatMap(({ contender, notes }) =>
    notes.map((note) => `\\* ${contender}, ${name}: ${note}.`),
  );
}
