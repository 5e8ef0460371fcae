/** A value in a TOML text: where it stands, and what it is called in full ("api.schemas"). */
interface Entry {
  readonly name: string;
  /** Of the table that it stands in; "" at the root. */
  readonly table: string;
  readonly start: number;
  readonly end: number;
}

/** A `[table]` line. */
interface Table {
  readonly name: string;
  readonly start: number;
  /** Behind its line. */
  readonly end: number;
}

export interface Toml {
  readonly entries: readonly Entry[];
  readonly tables: readonly Table[];
}

/** A text that is no TOML, as far as it was looked into. */
export class TomlError extends Error {
  override readonly name = "TomlError";
  constructor(line: number, problem: string) {
    super(`line ${line} has ${problem}`);
  }
}

const blank = /(?:[ \t\r\n]|#[^\n]*)*/y;
const header = /\[\[?[ \t]*([^\]\n]+?)[ \t]*\]\]?[ \t\r]*(?:#[^\n]*)?(?:\n|$)/y;
const key =
  /((?:[\w-]+|"[^"\n]*"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*'))*)[ \t]*=[ \t]*/y;
const string = /"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'[^'\n]*'/y;
const restOfLine = /[ \t\r]*(?:#[^\n]*)?(?:\n|$)/y;

/**
 * Finds tables and values, with their places, so that an edit can keep every other byte. Values are
 * not looked into beyond their strings and brackets. Throws a TomlError.
 */
export function parseToml(text: string): Toml {
  const entries: Entry[] = [];
  const tables: Table[] = [];
  let table = "";
  for (let at = skip(text, 0, blank); at < text.length; at = skip(text, at, blank)) {
    const line = matchAt(header, text, at);
    if (line !== null) {
      table = plainName(line[1] ?? "");
      tables.push({ name: table, start: at, end: at + line[0].length });
      at += line[0].length;
      continue;
    }
    const named = matchAt(key, text, at);
    if (named === null) throw errorAt(text, at, "neither a table nor a value");
    const start = at + named[0].length;
    const end = endOfValue(text, start);
    const name = plainName(named[1] ?? "");
    entries.push({ name: table === "" ? name : `${table}.${name}`, table, start, end });
    if (matchAt(restOfLine, text, end) === null) throw errorAt(text, end, "more than one value");
    at = end;
  }
  return { entries, tables };
}

/** The text of a plain value, such as a number; undefined where there is none, or the text is broken. */
export function tomlValue(text: string, table: string, name: string): string | undefined {
  try {
    const found = parseToml(text).entries.find((entry) => entry.name === `${table}.${name}`);
    return found && text.slice(found.start, found.end);
  } catch {
    return undefined;
  }
}

/** The strings of a list, with their places; undefined for a value that is no list of strings. */
export function stringsIn(text: string, { start, end }: Entry): ListedString[] | undefined {
  if (text[start] !== "[") return undefined;
  const found: ListedString[] = [];
  let at = start + 1;
  for (;;) {
    at = skip(text, at, /(?:[ \t\r\n,]|#[^\n]*)*/y);
    if (at >= end - 1) return found;
    const [item] = matchAt(string, text, at) ?? [];
    if (item === undefined) return undefined;
    found.push({ value: contentOf(item), start: at, end: at + item.length });
    at += item.length;
  }
}

export interface ListedString {
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** To the end of the line, or to the bracket that closes the one at its beginning. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const [quoted] = matchAt(string, text, at) ?? [];
    const char = text[at] ?? "";
    if (quoted !== undefined) at += quoted.length;
    else if (char === '"' || char === "'") throw errorAt(text, at, "text without an end");
    else if (char === "#" && depth > 0) at = skip(text, at, /[^\n]*/y);
    else if (depth === 0 && (char === "\n" || char === "#")) break;
    else {
      if ("[{".includes(char)) depth += 1;
      if ("]}".includes(char)) depth -= 1;
      at += 1;
      if (depth === 0 && "]}".includes(char)) return at;
    }
  }
  if (depth > 0) throw errorAt(text, start, "a list without an end");
  const value = text.slice(start, at).trimEnd();
  if (value === "") throw errorAt(text, start, "no value");
  return start + value.length;
}

function contentOf(quoted: string): string {
  if (quoted.startsWith("'")) return quoted.replace(/^'+|'+$/g, "");
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.replace(/^"+|"+$/g, "");
  }
}

/** `"a" . b` as `a.b`. */
function plainName(name: string): string {
  return name.replaceAll(/[ \t"']/g, "");
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function skip(text: string, at: number, pattern: RegExp): number {
  return at + (matchAt(pattern, text, at)?.[0].length ?? 0);
}

function errorAt(text: string, at: number, problem: string): TomlError {
  return new TomlError(text.slice(0, at).split("\n").length, problem);
}
