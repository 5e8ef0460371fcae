import { expect, test } from "vitest";
import { renderSql } from "../../src/schema/index.ts";

/**
 * Supabase loads the extension safeupdate into every connection of its Data API, and it refuses each
 * UPDATE and DELETE without a WHERE of its own, within functions as well. It can't be had here, so
 * the text of the functions is read.
 */
const sql = renderSql()
  .replace(/--.*$/gm, "")
  .replace(/'(?:[^']|'')*'/g, "''");

/** The statement that begins at `start`, what stands in parentheses left out. */
function statementAt(start: number): string {
  let depth = 0;
  let text = "";
  for (const character of sql.slice(start)) {
    if (character === ")") depth -= 1;
    if (depth < 0 || (depth === 0 && character === ";")) break;
    if (depth === 0) text += character;
    if (character === "(") depth += 1;
  }
  return text;
}

test("every UPDATE and DELETE of the functions has a WHERE, as the Data API asks for", () => {
  const found = [...sql.matchAll(/\b(update|delete\s+from)\s+"?leasehold"?\./gi)];
  expect(found.length).toBeGreaterThan(30);
  const statements = found.map(({ index }) => statementAt(index));
  expect(statements.filter((statement) => !/\bwhere\b/i.test(statement))).toEqual([]);
});
