import { quoteIdentifier } from "./database.ts";
import type { TxStatement } from "./tx-library.ts";

/**
 * The statement with Knex' `?` in place of `$1`. A `?` in the schema's name would be one more, and
 * Knex' escape of it fails after a backslash; so such a name is written with its code point.
 */
export function knexStatement({ text, values, schema }: TxStatement): {
  sql: string;
  bindings: (string | null)[];
} {
  const quoted = quoteIdentifier(schema);
  const [before = "", after = ""] = text.split(quoted);
  const name = schema.includes("?") ? unicodeIdentifier(schema) : quoted;
  return { sql: before + name + after.replace(/\$\d+/g, "?"), bindings: values };
}

function unicodeIdentifier(name: string): string {
  const escaped = name.replaceAll("\\", "\\\\").replaceAll("?", "\\003F");
  return `U&${quoteIdentifier(escaped)}`;
}
