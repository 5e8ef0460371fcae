/**
 * What somebody else wrote, fit for one line of a page, for PostgreSQL and for JSON: no control, invisible
 * or half characters, at most `maxCharacters`.
 */
export function oneLine(text: string, maxCharacters: number): string {
  const clean = text
    .toWellFormed()
    .replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/\p{Cf}/gu, "");
  return [...clean.trim()].slice(0, maxCharacters).join("");
}
