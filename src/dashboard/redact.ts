/** Answers what is shown in place of `value`, which stands under these names and places. */
export type Redact = (value: unknown, path: readonly (string | number)[]) => unknown;

/** What is shown in place of a value that is not to leave the server. */
export const redacted = "[redacted]";

/** Redacts the properties of these names. */
export function namesRedacted(names: readonly string[]): Redact {
  const known = new Set(names.map((name) => name.toLowerCase()));
  return (value, path) => {
    const name = path.at(-1);
    return typeof name === "string" && known.has(name.toLowerCase()) ? redacted : value;
  };
}

/** A copy of a JSON value in which each value is what `redact` answers for it, from the root down. */
export function applied(redact: Redact, value: unknown, path: (string | number)[] = []): unknown {
  const shown = redact(value, path);
  if (Array.isArray(shown)) return shown.map((item, i) => applied(redact, item, [...path, i]));
  if (typeof shown !== "object" || shown === null) return shown;
  return Object.fromEntries(
    Object.entries(shown).map(([name, item]) => [name, applied(redact, item, [...path, name])]),
  );
}
