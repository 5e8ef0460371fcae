/** Where the parts of a JSON text stand, so that an edit can keep every other byte. */
export interface JsonPlace {
  readonly value: unknown;
  readonly start: number;
  /** Behind its last character. */
  readonly end: number;
  /** Of an object, by key. */
  readonly members: ReadonlyMap<string, JsonPlace>;
  /** Of a list. */
  readonly items: readonly JsonPlace[];
}

const blank = /[ \t\r\n]*/y;
const scalar = /"(?:\\.|[^"\\])*"|[^\s,\]}]+/y;

/** Throws a SyntaxError for what is no JSON. */
export function placesIn(text: string): JsonPlace {
  JSON.parse(text); // from here on the text is known to be well formed
  return placeAt(text, skip(text, 0, blank));
}

function placeAt(text: string, start: number): JsonPlace {
  const members = new Map<string, JsonPlace>();
  const items: JsonPlace[] = [];
  const open = text[start] ?? "";
  let end = skip(text, start, scalar);
  if ("{[".includes(open)) {
    let at = skip(text, start + 1, blank);
    while (!"}]".includes(text[at] ?? "}")) {
      let key: string | undefined;
      if (open === "{") {
        const keyEnd = skip(text, at, scalar);
        key = String(JSON.parse(text.slice(at, keyEnd)));
        at = skip(text, skip(text, keyEnd, blank) + 1, blank); // behind the colon
      }
      const place = placeAt(text, at);
      if (key === undefined) items.push(place);
      else members.set(key, place);
      at = skip(text, place.end, blank);
      if (text[at] === ",") at = skip(text, at + 1, blank);
    }
    end = at + 1;
  }
  return { value: JSON.parse(text.slice(start, end)), start, end, members, items };
}

function skip(text: string, at: number, pattern: RegExp): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}
