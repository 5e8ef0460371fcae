import type { Arguments } from "../database.ts";
import type { Argument, Given } from "./arguments.ts";
import { callForJson } from "./database.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { flag } from "./option-values.ts";
import { printData, printNote } from "./output.ts";

export const referenceArgs = {
  reference: {
    type: "string",
    valueHint: "text",
    description: "What this is, a payment's number say: needed, and counts once",
  },
} as const satisfies Record<string, Argument>;

interface Answer {
  readonly outcome: "granted" | "refunded" | "duplicate" | "refused";
  readonly available: number | null;
}

/** Adds credits by this function, and tells what became of it. */
export async function tellCrediting(
  given: Given,
  name: "grant_credits" | "refund",
  args: Arguments,
): Promise<ExitCode> {
  const json = await callForJson(given, name, args);
  const { outcome, available } = JSON.parse(json) as Answer;
  if (flag(given, "json")) printData(json);
  if (outcome === "refused") {
    const why =
      name === "refund"
        ? "the job captured less than that, or nothing"
        : "the account would pass 9007199254740991";
    printNote(`leasehold: refused: ${why}; nothing was changed.`);
    return exitCodes.refused;
  }
  if (!flag(given, "json")) printData(`${outcome}, ${available} available`);
  return exitCodes.done;
}
