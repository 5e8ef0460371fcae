import { displayWidth, oneLine, padEnd, padStart } from "./text.ts";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number;
}

/** Lays rows out in columns; numbers stand to the right. The last column is as long as it likes. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const cells = rows.map((row) => columns.map(({ value }) => value(row)));
  const widths = columns.map(({ title }, i) =>
    Math.max(displayWidth(title), ...cells.map((row) => displayWidth(shown(row[i])))),
  );
  const line = (row: readonly (string | number)[]): string =>
    row.map((cell, i) => (i === row.length - 1 ? shown(cell) : padded(cell, widths[i]))).join("  ");
  return [
    line(columns.map(({ title }) => title)),
    widths.map((width) => "-".repeat(width)).join("  "),
    ...cells.map(line),
  ].map((text) => text.trimEnd());
}

function padded(cell: string | number, width = 0): string {
  return typeof cell === "number" ? padStart(shown(cell), width) : padEnd(shown(cell), width);
}

function shown(cell: string | number | undefined): string {
  return oneLine(String(cell ?? ""));
}
