/** Where text stops being JSON; both count from 1, `column` in UTF-16 units. */
export interface JsonFault {
  readonly line: number;
  readonly column: number;
  /** What stands there, and what may stand there. */
  readonly problem: string;
}

const token = new RegExp(
  [
    /(?<string>"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")/u,
    /(?<scalar>(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-]))/u,
    /(?<mark>[{}[\]:,])/u,
  ]
    .map((part) => part.source)
    .join("|"),
  "uy",
);

type Expected = "value" | "item or ]" | "name" | "name or }" | ":" | ", or }" | ", or ]" | "end";

const inWords: Record<Expected, string> = {
  value: "a value",
  "item or ]": 'a value or "]"',
  name: "a name in double quotes",
  "name or }": 'a name in double quotes or "}"',
  ":": 'a ":"',
  ", or }": '"," or "}"',
  ", or ]": '"," or "]"',
  end: "the end",
};

/**
 * Finds where text that `JSON.parse` refuses stops being JSON: what Node says of it differs from
 * version to version, and often names no place. Undefined where the text is JSON after all.
 */
export function findJsonFault(json: string): JsonFault | undefined {
  const open: ("{" | "[")[] = [];
  let expected: Expected = "value";
  for (let at = skipSpace(json, 0); ; at = skipSpace(json, token.lastIndex)) {
    if (at >= json.length && expected === "end") return undefined;
    token.lastIndex = at;
    const groups = token.exec(json)?.groups;
    const next: Expected | undefined = groups && step(expected, kindOf(groups), open);
    if (next === undefined) return faultAt(json, at, expected);
    expected = next;
  }
}

type Kind = "string" | "scalar" | "{" | "}" | "[" | "]" | ":" | ",";

function kindOf(groups: Record<string, string | undefined>): Kind {
  if (groups.string !== undefined) return "string";
  return groups.scalar !== undefined ? "scalar" : (groups.mark as Kind);
}

/** What is expected after a token; undefined where the token is not expected itself. */
function step(expected: Expected, kind: Kind, open: ("{" | "[")[]): Expected | undefined {
  const isName = expected === "name" || expected === "name or }";
  if (isName && kind === "string") return ":";
  if (expected === ":" && kind === ":") return "value";
  if (expected === ", or }" && kind === ",") return "name";
  if (expected === ", or ]" && kind === ",") return "value";
  if (kind === "}" ? /}$/.test(expected) : kind === "]" && /]$/.test(expected)) {
    open.pop();
    return afterValue(open);
  }
  if (expected !== "value" && expected !== "item or ]") return undefined;
  if (kind === "string" || kind === "scalar") return afterValue(open);
  if (kind !== "{" && kind !== "[") return undefined;
  open.push(kind);
  return kind === "{" ? "name or }" : "item or ]";
}

function afterValue(open: readonly ("{" | "[")[]): Expected {
  const around = open.at(-1);
  if (around === undefined) return "end";
  return around === "{" ? ", or }" : ", or ]";
}

function skipSpace(json: string, from: number): number {
  let at = from;
  while (at < json.length && " \t\n\r".includes(json[at] ?? "")) at += 1;
  return at;
}

function faultAt(json: string, at: number, expected: Expected): JsonFault {
  const lines = json.slice(0, at).split("\n");
  const codePoint = json.codePointAt(at);
  const found =
    codePoint === undefined ? "the end" : JSON.stringify(String.fromCodePoint(codePoint));
  return {
    line: lines.length,
    column: (lines.at(-1)?.length ?? 0) + 1,
    problem: `${found} where ${inWords[expected]} belongs`,
  };
}
