import type { ArgDef } from "citty";
import { InvalidArgumentError } from "../errors.ts";
import { knownOptions } from "../options.ts";
import { usageError } from "./failure.ts";

/** An argument as citty knows it, and whether an option may be given several times. */
export type Argument = ArgDef & { readonly repeatable?: boolean };

/** What stood on the command line behind the name of the command. */
export interface Given {
  readonly positionals: readonly string[];
  /** The values of an option in their order; none where it was not given. "" for a flag. */
  values(option: string): readonly string[];
}

/**
 * Reads a command line strictly. citty's own reading ignores options that it does not know, drops
 * all but the last of a repeated one and takes `-5` for an option, so that a slip of the pen would
 * change what a command does without a word.
 *
 * Throws a usage error for an unknown option (naming the nearest known one), a value that is missing
 * or too many, an option that is given twice, and arguments that are missing or too many.
 */
export function readArguments(
  command: string,
  known: Readonly<Record<string, Argument>>,
  args: readonly string[],
): Given {
  const positionals: string[] = [];
  const options = new Map<string, string[]>();
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] ?? "";
    if (arg === "--") {
      positionals.push(...args.slice(i + 1));
      break;
    }
    if (!isOption(arg)) {
      positionals.push(arg);
      continue;
    }
    const { name, inline } = nameOf(command, known, arg);
    const option = known[name] as Argument;
    const next = option.type === "boolean" ? flagValue(name, inline) : inline;
    const value = next ?? valueAfter(name, args[++i]);
    const before = options.get(name) ?? [];
    if (before.length > 0 && !option.repeatable && option.type !== "boolean") throw twice(name);
    options.set(name, [...before, value]);
  }
  checkPositionals(command, known, positionals);
  return { positionals, values: (option) => options.get(option) ?? [] };
}

/** `-` is standard input, and `-5` a JSON value. */
function isOption(arg: string): boolean {
  return arg.startsWith("-") && arg !== "-" && !/^-\.?\d/.test(arg);
}

function nameOf(
  command: string,
  known: Readonly<Record<string, Argument>>,
  arg: string,
): { name: string; inline: string | undefined } {
  const [, written = arg, , inline] = /^([^=]*)(=([\s\S]*))?$/.exec(arg) ?? [];
  const optionNames = Object.keys(known).filter((name) => known[name]?.type !== "positional");
  const name = optionNames.find(
    (option) => written === `--${option}` || shortOf(known[option]) === written,
  );
  if (name !== undefined) return { name, inline };
  try {
    knownOptions(
      command,
      { [written]: true },
      optionNames.map((option) => `--${option}`),
    );
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    const problem = `${command} has no option ${JSON.stringify(written)}.`;
    throw usageError(problem, error.hint, { cause: error });
  }
  throw usageError(`${written} can't be used here.`, `See \`leasehold ${command} --help\`.`);
}

function shortOf(option: Argument | undefined): string | undefined {
  return option !== undefined && "alias" in option && typeof option.alias === "string"
    ? `-${option.alias}`
    : undefined;
}

function flagValue(name: string, inline: string | undefined): string {
  if (inline === undefined) return "";
  throw usageError(`--${name} takes no value.`, `Write --${name} alone, or leave it out.`);
}

/** The next argument; a negative number is a value, an option is not. */
function valueAfter(name: string, next: string | undefined): string {
  if (next !== undefined && !isOption(next)) return next;
  throw usageError(
    `--${name} has no value.`,
    `Write --${name}=VALUE; a value that begins with a hyphen needs the equals sign.`,
  );
}

function twice(name: string): Error {
  return usageError(`--${name} is given twice.`, "Give it once.");
}

function checkPositionals(
  command: string,
  known: Readonly<Record<string, Argument>>,
  given: readonly string[],
): void {
  const names = Object.keys(known).filter((name) => known[name]?.type === "positional");
  const missing = names[given.length];
  const help = `See \`leasehold ${command} --help\`.`;
  if (missing !== undefined && known[missing]?.required !== false) {
    throw usageError(`${command} needs ${missing.toUpperCase()}.`, help);
  }
  const rest = names.at(-1)?.endsWith("…") ?? false;
  const surplus = given[names.length];
  if (surplus === undefined || rest) return;
  const shown = JSON.stringify(surplus);
  throw usageError(`${command} takes no further argument ${shown}.`, help);
}
