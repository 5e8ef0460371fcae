const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/**
 * What a terminal draws two columns wide: the characters that Unicode's East Asian Width calls wide
 * or full width, in rough blocks, and pictures (U+FE0F asks for the picture of a character).
 */
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f1e6}-\u{1f1ff}\u{20000}-\u{3fffd}]|^\p{Emoji_Presentation}|\ufe0f/u;

/** How many columns of a terminal `text` takes: 受 takes two, an accent of its own none. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** `text` in at most so many columns of a terminal; "…" stands for what was cut off. */
export function cutToWidth(text: string, columns: number): string {
  if (text.length <= columns && /^[ -~]*$/.test(text)) return text;
  let width = 0;
  let fits = "";
  for (const { segment } of segmenter.segment(text)) {
    const more = width + (wide.test(segment) ? 2 : 1);
    if (more > columns) return columns > 0 ? `${withoutLast(fits, width - columns + 1)}…` : "";
    width = more;
    fits += segment;
  }
  return text;
}

/** What is left when the last segments are cut away that take at least so many columns. */
function withoutLast(text: string, columns: number): string {
  const segments = Array.from(segmenter.segment(text), ({ segment }) => segment);
  for (let freed = 0; freed < columns && segments.length > 0; ) {
    freed += displayWidth(segments.pop() ?? "");
  }
  return segments.join("");
}

/** Characters that move the cursor, recolour, break the line or turn the direction of writing. */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * JSON text that a terminal obeys no more than a table: the same value, with what it would obey
 * written as \u009b. PostgreSQL and JSON.stringify escape the first 32 characters alone.
 */
export function harmlessJson(json: string): string {
  return json.replace(unsafe, escaped);
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** `text` on one line, harmless for a terminal; what would not be is written as \u001b. */
export function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\s*[\r\n]+\s*/g, " ")
    .replace(unsafe, escaped);
}
