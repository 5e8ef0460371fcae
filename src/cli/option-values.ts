import { durationMs } from "../duration.ts";
import { type IntegerBounds, integer, text } from "../options.ts";
import { isJobId, isMoment } from "../text-forms.ts";
import type { Given } from "./arguments.ts";
import { usageError, wrongValue } from "./failure.ts";
import { readableDuration } from "./readable.ts";

/*
 * The values of options. Each reader answers undefined where the option was not given, and refuses a
 * bad value by the option's name, before anything is opened.
 */

export function flag(given: Given, option: string): boolean {
  return given.values(option).length > 0;
}

/** Text such as a key or an owner: not blank, no control characters, 500 bytes at most. */
export function textOption(given: Given, option: string): string | undefined {
  const [value] = given.values(option);
  return value === undefined ? undefined : text(`--${option}`, value, { maxBytes: 500 });
}

export function kindOption(given: Given, option: string): string | undefined {
  return kindOptions(given, option)?.[0];
}

/** Kinds, one each time that the option is given. */
export function kindOptions(given: Given, option: string): string[] | undefined {
  return list(given, option, (value) => text(`--${option}`, value, { maxBytes: 100 }));
}

/** Kinds with commas between them, or one each time that the option is given. */
export function listOption(given: Given, option: string): string[] | undefined {
  return list(given, option, (value) => value)
    ?.flatMap((value) => value.split(","))
    .map((kind) => text(`--${option}`, kind.trim(), { maxBytes: 100 }));
}

export function integerOption(
  given: Given,
  option: string,
  bounds: IntegerBounds,
): number | undefined {
  const [value] = given.values(option);
  if (value === undefined) return undefined;
  // What is no whole number is shown as it was written: "1.5", "1e3", "abc".
  return integer(`--${option}`, /^-?\d+$/.test(value) ? Number(value) : value, bounds);
}

/** A duration with its unit, in milliseconds. */
export function durationOption(
  given: Given,
  option: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  const [value] = given.values(option);
  if (value === undefined) return undefined;
  try {
    return durationMs(`--${option}`, value, { min, max });
  } catch {
    const bounds = `${readableDuration(min)} to ${readableDuration(max)}`;
    const accepted = `a duration with its unit, such as "250ms", "5s", "1.5m", "2h" or "30d", from ${bounds}`;
    throw wrongValue(`--${option}`, value, accepted);
  }
}

export function choiceOption<T extends string>(
  given: Given,
  option: string,
  accepted: readonly T[],
): T | undefined {
  return choiceOptions(given, option, accepted)?.[0];
}

/** Some of the accepted words, one each time that the option is given. */
export function choiceOptions<T extends string>(
  given: Given,
  option: string,
  accepted: readonly T[],
): T[] | undefined {
  return list(given, option, (value) => {
    const choice = accepted.find((word) => word === value);
    if (choice === undefined) throw wrongValue(`--${option}`, value, oneOf(accepted));
    return choice;
  });
}

/** A moment in ISO 8601 with a zone, handed on as it was written. */
export function momentOption(given: Given, option: string): string | undefined {
  const [value] = given.values(option);
  if (value === undefined || isMoment(value)) return value;
  throw wrongValue(`--${option}`, value, 'a time with its zone, such as "2030-01-31T12:00:00Z"');
}

export function idOption(given: Given, option: string): string | undefined {
  const [value] = given.values(option);
  return value === undefined ? undefined : jobId(`--${option}`, value);
}

/** The id of a job, in the form in which the database answers it. */
export function jobId(name: string, value: string): string {
  if (isJobId(value)) return value.toLowerCase();
  throw wrongValue(name, value, "the whole id of a job, a uuid");
}

/** The first argument, an account. */
export function accountArgument(given: Given): string {
  return text("ACCOUNT", given.positionals[0] ?? "", { maxBytes: 500 });
}

/** The second argument, a number of credits. */
export function amountArgument(given: Given): number {
  const value = given.positionals[1] ?? "";
  const bounds = { min: 1, max: Number.MAX_SAFE_INTEGER };
  return integer("AMOUNT", /^\d+$/.test(value) ? Number(value) : value, bounds);
}

/** The reference without which credits are not changed. */
export function referenceOption(given: Given): string {
  const reference = textOption(given, "reference");
  if (reference !== undefined) return reference;
  throw usageError("--reference is missing.", "Name what this is: it counts once under that name.");
}

function list<T>(given: Given, option: string, read: (value: string) => T): T[] | undefined {
  const values = given.values(option);
  return values.length === 0 ? undefined : values.map(read);
}

function oneOf(words: readonly string[]): string {
  return words.length === 1 ? String(words[0]) : `one of ${words.join(", ")}`;
}
