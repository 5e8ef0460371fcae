import { exitCodes } from "../../exit-codes.ts";
import { CliError } from "../../failure.ts";
import type { Change, Made } from "../change.ts";
import { type ListedString, parseToml, stringsIn, type Toml, TomlError } from "../toml.ts";

const path = "supabase/config.toml";

/** What Supabase serves where the list is missing. */
const served = ["public", "graphql_public"];

/** The Data API of the local stack, and with `supabase config push` the project's, serves the schema. */
export function supabaseConfig(schema: string): Change {
  return {
    path,
    purpose: `the Data API serves ${schema}`,
    whole: false,
    make: (before) => exposeSchema(before ?? "", schema),
  };
}

/** Adds the schema to `schemas` of `[api]`; every other byte stays. */
export function exposeSchema(text: string, schema: string): Made {
  const toml = parse(text);
  const list = toml.entries.find(({ name }) => name === "api.schemas");
  if (list === undefined) return withoutList(text, toml, schema);
  const strings = stringsIn(text, list);
  if (strings === undefined) {
    return { because: "has schemas that are no list of names", snippet: lineFor(schema).trimEnd() };
  }
  if (strings.some(({ value }) => value === schema)) return { text };
  const last = strings.at(-1);
  if (last === undefined)
    return { text: splice(text, list.start, list.end, `[${quoted(schema)}]`) };
  return { text: addBehind(text, last, list.end, schema) };
}

function parse(text: string): Toml {
  try {
    return parseToml(text);
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const hint = "Nothing was written. Correct it and run init again.";
    throw new CliError(exitCodes.failed, `${path} is no TOML: ${cause.message}.`, hint, { cause });
  }
}

/** Behind the last string: on its line, or on a line of its own where the list has one for each. */
function addBehind(text: string, last: ListedString, listEnd: number, schema: string): string {
  const [toComma] = /^(?:\s|#[^\n]*)*,/.exec(text.slice(last.end, listEnd)) ?? [];
  const behind = last.end + (toComma?.length ?? 0);
  const lineEnd = text.slice(behind, listEnd).indexOf("\n");
  const added = quoted(schema) + (toComma === undefined ? "" : ",");
  if (lineEnd < 0) {
    return splice(text, behind, behind, `${toComma === undefined ? "," : ""} ${added}`);
  }
  const lineStart = text.lastIndexOf("\n", last.start) + 1;
  const [indent = ""] = /^[ \t]*/.exec(text.slice(lineStart)) ?? [];
  const at = behind + lineEnd;
  const withLine = splice(text, at, at, `\n${indent}${added}`);
  return toComma === undefined ? splice(withLine, last.end, last.end, ",") : withLine;
}

/** A line behind the one that is commented out, else behind the table's last value; or a new table. */
function withoutList(text: string, toml: Toml, schema: string): Made {
  const line = lineFor(schema);
  const table = toml.tables.find(({ name }) => name === "api");
  const dotted = toml.entries.some(({ name, table: own }) => own === "" && /^api(\.|$)/.test(name));
  if (dotted) return { because: "writes [api] in another way", snippet: line.trimEnd() };
  if (table === undefined) {
    const gap = text === "" ? "" : text.endsWith("\n") ? "\n" : "\n\n";
    return { text: `${text}${gap}[api]\n${line}` };
  }
  const end = toml.tables.find(({ start }) => start >= table.end)?.start ?? text.length;
  const comment = /^[ \t]*#[ \t]*schemas[ \t]*=.*$/m.exec(text.slice(table.end, end));
  const values = toml.entries.filter(({ table: own }) => own === "api");
  const behind =
    comment === null ? (values.at(-1)?.end ?? table.end - 1) : table.end + comment.index;
  const at = text.indexOf("\n", behind) + 1;
  if (at === 0) return { text: `${text}\n${line}` };
  return { text: splice(text, at, at, line) };
}

function lineFor(schema: string): string {
  return `schemas = [${[...served, schema].map(quoted).join(", ")}]\n`;
}

/** What TOML and JSON write alike. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

function splice(text: string, start: number, end: number, put: string): string {
  return text.slice(0, start) + put + text.slice(end);
}
