import { quoteIdentifier } from "../database.ts";
import { invalidArgument } from "../errors.ts";

/** PostgreSQL cuts longer identifiers silently, and two schemas could become one. */
const MAX_IDENTIFIER_BYTES = 63;

/**
 * Checks a schema name: any identifier of at most 63 bytes, except those that are PostgreSQL's own
 * and `public`, since leasehold drops functions of older versions and needs a schema for itself.
 * Throws LH002.
 */
export function checkSchemaName(schema: unknown): asserts schema is string {
  if (!isIdentifier(schema)) {
    throw invalidArgument("schema", schema, "a name of 1 to 63 bytes without a NUL character");
  }
  if (schema.startsWith("pg_") || schema === "information_schema" || schema === "public") {
    throw invalidArgument("schema", schema, "a schema of leasehold's own, such as 'leasehold'");
  }
}

/** Whether PostgreSQL can hold `name` unchanged as an identifier. */
export function isIdentifier(name: unknown): name is string {
  return (
    typeof name === "string" &&
    name !== "" &&
    !name.includes("\0") &&
    name.isWellFormed() &&
    new TextEncoder().encode(name).length <= MAX_IDENTIFIER_BYTES
  );
}

/** Single quotes doubled and the whole quoted. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * The pieces of SQL text that matter here. Dollar quotes are only marks, not strings: what stands
 * between them is SQL as well, and is rewritten as well. `e''` strings come before words, for
 * their `\'` does not end them; a literal or comment without an end takes the rest of the text.
 */
const token = new RegExp(
  [
    /(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))/u,
    /(?<literal>\b[eE]'(?:\\[\s\S]|''|[^'\\])*(?:'|$)|'(?:''|[^'])*(?:'|$))/u,
    /(?<identifier>"(?:""|[^"])*(?:"|$))/u,
    /(?<dollar>\$\$)/u,
    /(?<![\p{L}\p{N}_$.])(?<word>[\p{L}_][\p{L}\p{N}_]*)/u,
  ]
    .map((part) => part.source)
    .join("|"),
  "gu",
);

/**
 * Rewrites SQL that is written for the schema `leasehold` so that it means `schema`:
 *
 * - `leasehold.` before a name, and the word after `schema` or `schema if [not] exists`, become the
 *   quoted identifier;
 * - `{{schema}}` within a single-quoted literal becomes the name with its quotes doubled;
 * - `$$` becomes a tag that no inserted text contains, where one of them has a `$`. `inserted`
 *   lists what will stand between dollar quotes: the name, and what the caller puts there.
 *
 * All other literals, quoted identifiers and comments stay as they are.
 */
export function applySchemaName(
  sql: string,
  schema: string,
  inserted: readonly string[] = [schema],
): string {
  // Left as it is where it needs no quotes: people read the printed script.
  const identifier = schema === "leasehold" ? schema : quoteIdentifier(schema);
  const content = schema.replaceAll("'", "''");
  const quote = dollarTag(inserted);
  let before = "";
  return sql.replace(token, (text: string, ...rest: unknown[]) => {
    const groups = rest.at(-1) as Partial<Record<string, string>>;
    const end = (rest.at(-3) as number) + text.length;
    if (groups.literal !== undefined) return text.replaceAll("{{schema}}", () => content);
    if (groups.dollar !== undefined) return quote;
    if (groups.word === undefined) return text;
    const named = isSchemaReference(text, before, sql.slice(end, end + 2));
    // `schema if not exists leasehold`: the three words between do not change what comes next.
    if (!(before === "schema" && /^(if|not|exists)$/i.test(text))) before = text.toLowerCase();
    return named ? identifier : text;
  });
}

function isSchemaReference(word: string, before: string, after: string): boolean {
  if (word !== "leasehold") return false;
  return before === "schema" || /^\.[\p{L}_"]/u.test(after);
}

function dollarTag(inserted: readonly string[]): string {
  return inserted.some((text) => text.includes("$")) ? freeTag("body", inserted) : "$$";
}

/** A dollar quote `$name$`, numbered where one of the texts contains it. */
export function freeTag(name: string, texts: readonly string[]): string {
  for (let i = 0; ; i++) {
    const tag = i === 0 ? `$${name}$` : `$${name}_${i}$`;
    if (!texts.some((text) => text.includes(tag))) return tag;
  }
}
