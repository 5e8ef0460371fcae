import { defineJob } from "../define.ts";
import type { Argument, Given } from "./arguments.ts";
import { callEach } from "./each.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { flag } from "./option-values.ts";
import { printData, printNote } from "./output.ts";
import { harmlessJson } from "./text-width.ts";

/** The argument of pause and resume. */
export const pausingArgs = {
  "kind…": { type: "positional", description: "The names of one or more kinds" },
} as const satisfies Record<string, Argument>;

/**
 * Pauses or resumes kinds one after the other, and tells which of them were so already: that is no
 * failure, but it may be a slip of the pen.
 */
export async function callPausing(
  given: Given,
  name: "pause" | "resume",
  texts: { readonly done: string; readonly already: string },
): Promise<ExitCode> {
  // Checked as a definition checks it, all before the first call.
  const kinds = [...new Set(given.positionals.map((kind) => defineJob(kind).kind))];
  const json = flag(given, "json");
  const answers: { kind: string; changed: boolean }[] = [];
  await callEach(given, kinds, async (kind, call) => {
    const changed = (await call(name, { p_kind: kind })) === "true";
    answers.push({ kind, changed });
    if (json) return;
    if (changed) printData(`${kind} ${texts.done}`);
    else printNote(`leasehold: ${kind} ${texts.already}`);
  });
  if (json) printData(harmlessJson(JSON.stringify(answers)));
  return exitCodes.done;
}
