import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { describeError } from "../describe-error.ts";
import { type JsonValue, toJsonValue } from "../json.ts";
import { usageError } from "./failure.ts";
import { findJsonFault } from "./json-fault.ts";
import { findInexactNumber } from "./json-numbers.ts";

/**
 * A JSON argument: the JSON itself, `@FILE` for the content of a file, `-` for standard input.
 *
 * Throws a usage error for what is no JSON (naming line and column) and for a number that a handler
 * in JavaScript would receive as another one; LH103 and LH004 for what jsonb can't hold.
 */
export async function jsonArgument(name: string, argument: string): Promise<JsonValue> {
  const json = await sourceOf(name, argument);
  const value = parse(name, json);
  const inexact = findInexactNumber(json);
  if (inexact !== undefined) {
    throw usageError(
      `${name} holds the number ${inexact}, which JavaScript can't hold exactly.`,
      `Give it as text: "${inexact}".`,
    );
  }
  return toJsonValue(value, { what: "payload" });
}

function parse(name: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    const fault = findJsonFault(json);
    const place = fault && `line ${fault.line}, column ${fault.column} has ${fault.problem}`;
    throw usageError(
      `${name} is no JSON: ${place ?? describeError(cause).message}.`,
      `Quote it for the shell, '{"a": "b"}', or give it as @FILE or, for standard input, as -.`,
      { cause },
    );
  }
}

async function sourceOf(name: string, argument: string): Promise<string> {
  if (argument !== "-" && !argument.startsWith("@")) return argument;
  const path = argument.slice(1);
  const bytes = await (argument === "-" ? buffer(process.stdin) : readFile(path)).catch((cause) => {
    throw usageError(
      `${name} can't be read from ${argument === "-" ? "standard input" : JSON.stringify(path)}: ${cause.message}.`,
      "Give the path of a file with JSON in it, as @FILE.",
      { cause },
    );
  });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw usageError(`${name} is no UTF-8 text.`, "Give JSON in UTF-8.", { cause });
  }
}
