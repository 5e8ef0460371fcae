import type { FunctionName } from "../functions.ts";
import type { Argument, Given } from "./arguments.ts";
import { jsonCalls } from "./database.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { flag, jobId } from "./option-values.ts";
import { printData, printNote } from "./output.ts";
import { harmlessJson } from "./text-width.ts";

/** The argument of a command that does one thing to one job after the other. */
export const eachIdArgs = {
  "id…": { type: "positional", description: "The ids of one or more jobs" },
} as const satisfies Record<string, Argument>;

/** How the outcomes of a function for one job are told. */
export interface EachTexts {
  /** The outcome that is meant, and how it is told. */
  readonly done: readonly [outcome: string, text: string];
  /** Every other outcome. */
  readonly refused: Readonly<Record<string, string>>;
}

/** What the function answers. */
interface Answer {
  readonly outcome: string;
  readonly status: string | null;
}

/**
 * Calls a function once for each id, in a transaction of its own, and tells each outcome when it has
 * come: what was done before a failure is known.
 */
export async function callEachId(
  given: Given,
  name: FunctionName,
  texts: EachTexts,
): Promise<ExitCode> {
  const ids = [...new Set(given.positionals.map((id) => jobId("ID", id)))];
  const json = flag(given, "json");
  const answers: (Answer & { readonly id: string })[] = [];
  await callEach(given, ids, async (id, call) => {
    const answer = { ...(JSON.parse(await call(name, { p_id: id })) as Answer), id };
    answers.push(answer);
    const [meant, text] = texts.done;
    if (answer.outcome !== meant) {
      printNote(`leasehold: ${id}: ${texts.refused[answer.outcome] ?? answer.outcome}`);
    } else if (!json) printData(`${id} ${text}`);
  });
  if (json) printData(harmlessJson(JSON.stringify(answers)));
  const refused = answers.some(({ outcome }) => outcome !== texts.done[0]);
  return refused ? exitCodes.refused : exitCodes.done;
}

/** Calls a function for one value after the other, over one database. */
export async function callEach(
  given: Given,
  values: readonly string[],
  one: (value: string, call: ReturnType<typeof jsonCalls>["call"]) => Promise<void>,
): Promise<void> {
  const { call, close } = jsonCalls(given);
  try {
    for (const value of values) await one(value, call);
  } finally {
    await close();
  }
}
