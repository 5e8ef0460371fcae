import { invalidArgument, type LeaseholdError, leaseholdError, show } from "./errors.ts";

/** What `integer` accepts, both ends included. */
export interface IntegerBounds {
  readonly min: number;
  readonly max: number;
}

/**
 * The whole number `value`. Throws LH002, which names the option and the value, for anything else:
 * a number as text, NaN, a fraction, or one outside the bounds.
 */
export function integer(name: string, value: unknown, { min, max }: IntegerBounds): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) {
    return value + 0; // -0 becomes 0.
  }
  throw invalidArgument(name, value, `a whole number from ${min} to ${max}`);
}

/** What `text` accepts. */
export interface TextBounds {
  /** The most bytes of UTF-8. */
  readonly maxBytes: number;
}

const controlCharacter = /\p{Cc}/u;

/**
 * The name-like text `value`: a kind, key, owner, account or reference. An empty or blank one is
 * refused rather than read as "none", since two places that disagree about it would treat a job as
 * having a key and not having one.
 *
 * Throws LH002 for anything that is not a string, is blank, holds a control character (C0, DEL or
 * C1) or half a surrogate pair; LH004 above `maxBytes`.
 */
export function text(name: string, value: unknown, { maxBytes }: TextBounds): string {
  if (typeof value !== "string") throw invalidArgument(name, value, "a string");
  if (value.trim() === "") throw invalidArgument(name, value, "text that is not blank");
  if (controlCharacter.test(value)) {
    throw invalidArgument(name, value, "text without control characters");
  }
  if (!value.isWellFormed()) {
    throw invalidArgument(name, value, "well-formed text, without half a surrogate pair");
  }
  const bytes = utf8Bytes(value);
  if (bytes <= maxBytes) return value;
  throw tooLarge(name, `${bytes} bytes of UTF-8`, maxBytes);
}

/** LH004: `name` takes `size`, more than the limit. */
export function tooLarge(name: string, size: string, maxBytes: number): LeaseholdError {
  return leaseholdError(
    "LH004",
    `${name} takes ${size}, and ${maxBytes} are allowed`,
    "Store it elsewhere, in a file or a table of your own, and pass a reference to it.",
  );
}

/** A place as code would write it, `payload.items[2]["odd key"]`; cut in the middle when deep. */
export function pathText(what: string, path: readonly PropertyKey[]): string {
  const segments = path.map((key) => {
    if (typeof key !== "string") return `[${String(key)}]`;
    return /^[\p{L}_$][\p{L}\p{N}_$]{0,49}$/u.test(key) ? `.${key}` : `[${show(key)}]`;
  });
  if (segments.length > 20) segments.splice(10, segments.length - 15, "…");
  return what + segments.join("");
}

const encoder = new TextEncoder();

/** How many bytes `value` takes as UTF-8. */
export function utf8Bytes(value: string): number {
  return encoder.encode(value).length;
}

/**
 * Refuses options that do not exist, since a misspelt one would otherwise be ignored without a
 * word. `where` says whose options they are ("enqueue").
 *
 * Throws LH003, which names the unknown option, the nearest known one and all that are accepted;
 * LH002 where `options` is no object.
 */
export function knownOptions(where: string, options: object, known: readonly string[]): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw invalidArgument(`the options of ${where}`, options, "an object");
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const suggestion = nearest(unknown, known);
  throw leaseholdError(
    "LH003",
    `${where} has no option ${show(unknown)}`,
    `${suggestion ? `Did you mean ${suggestion}? ` : ""}Accepted: ${known.join(", ")}.`,
  );
}

/** The known name that `name` was probably meant to be; none when all are too far off. */
function nearest(name: string, known: readonly string[]): string | undefined {
  if (name.length > 50) return undefined; // No slip of the pen, and the distance is quadratic.
  let best: string | undefined;
  let bestDistance = Math.ceil(name.length / 3) + 1;
  for (const candidate of known) {
    const distance = editDistance(folded(name), folded(candidate));
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** `max_attempts`, `max-attempts` and `MaxAttempts` are the same slip. */
function folded(name: string): string {
  return name.replaceAll(/[_-]/g, "").toLowerCase();
}

/** Levenshtein's distance: insertions, deletions and replacements from `a` to `b`. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const inserted = (current[column - 1] ?? 0) + 1;
      const deleted = (previous[column] ?? 0) + 1;
      current.push(Math.min(replaced, inserted, deleted));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
