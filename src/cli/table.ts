import { displayWidth, oneLine } from "./text-width.ts";

/** A number stands to the right; null and undefined leave the cell empty. */
export type Cell = string | number | null | undefined;

/** A column: its title, and what each row has in it. */
export type Column<Row> = readonly [title: string, cell: (row: Row) => Cell];

/**
 * Rows in aligned columns, with a line of titles. A column that is empty in every row is left out.
 * Nothing is cut, since half an id or key names nothing; long ones belong into the last columns.
 */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const filled = columns.filter(([, cell]) => rows.some((row) => !isEmpty(cell(row))));
  const titles = filled.map(([title]) => title);
  const grid = [titles, ...rows.map((row) => filled.map(([, cell]) => cell(row)))];
  const numeric = filled.map(([, cell]) => rows.some((row) => typeof cell(row) === "number"));
  return align(grid, numeric);
}

/** Names and their values, one a line; what is empty is left out. */
export function formatFields(fields: readonly (readonly [name: string, value: Cell])[]): string {
  return align(
    fields.filter(([, value]) => !isEmpty(value)),
    [],
  );
}

function isEmpty(cell: Cell): boolean {
  return cell === null || cell === undefined || cell === "";
}

function align(grid: readonly (readonly Cell[])[], toTheRight: readonly boolean[]): string {
  const texts = grid.map((row) => row.map((cell) => (isEmpty(cell) ? "" : oneLine(String(cell)))));
  const widths = (texts[0] ?? []).map((_, column) =>
    texts.reduce((most, row) => Math.max(most, displayWidth(row[column] ?? "")), 0),
  );
  const lines = texts.map((row) =>
    row
      .map((text, column) => {
        const space = " ".repeat((widths[column] ?? 0) - displayWidth(text));
        return toTheRight[column] ? space + text : text + space;
      })
      .join("  ")
      .trimEnd(),
  );
  return lines.join("\n");
}
