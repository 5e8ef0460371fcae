import { defineJob, maxDelayMs } from "../../define.ts";
import type { Argument, Given } from "../arguments.ts";
import { command } from "../command.ts";
import { callForJson } from "../database.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { usageError } from "../failure.ts";
import { jsonArgument } from "../json-argument.ts";
import {
  choiceOption,
  durationOption,
  flag,
  integerOption,
  momentOption,
  textOption,
} from "../option-values.ts";
import { printData, printNote } from "../output.ts";

const args = {
  kind: { type: "positional", description: "What to do: the name of a kind" },
  payload: { type: "positional", description: "JSON, @FILE, or - for standard input" },
  key: { type: "string", valueHint: "text", description: "One unfinished job per kind and key" },
  owner: { type: "string", valueHint: "text", description: "Who may see the job" },
  priority: { type: "string", valueHint: "n", description: "Lower first (default: 0)" },
  delay: { type: "string", valueHint: "duration", description: "Not before this much from now" },
  "run-after": {
    type: "string",
    valueHint: "time",
    description: "Not before this moment, such as 2030-01-31T12:00:00Z",
  },
  "max-attempts": { type: "string", valueHint: "n", description: "Tries in all (default: 5)" },
  "start-within": {
    type: "string",
    valueHint: "duration",
    description: "Fails with NOT_STARTED when nobody starts it within this",
  },
  "on-conflict": {
    type: "string",
    valueHint: "rule",
    description: "When an unfinished job holds the key: conflict (default), replace or rerun",
  },
  once: {
    type: "string",
    valueHint: "text",
    description: "A name under which this kind and owner enqueue only once",
  },
  "once-for": {
    type: "string",
    valueHint: "duration",
    description: "How long --once holds (default: 30d)",
  },
  cost: { type: "string", valueHint: "n", description: "So many credits, held until it ends" },
  account: {
    type: "string",
    valueHint: "text",
    description: "Whose credits (default: the owner's)",
  },
} as const satisfies Record<string, Argument>;

export const enqueueCommand = command({
  name: "enqueue",
  description: "Puts a job into the queue",
  args,
  async run(given) {
    const [kind = "", payload = ""] = given.positionals;
    const named = { p_kind: defineJob(kind).kind, p_options: optionsOf(given) };
    const p_payload = await jsonArgument("PAYLOAD", payload);
    const json = await callForJson(given, "enqueue", { ...named, p_payload });
    return tell(JSON.parse(json), flag(given, "json") ? json : undefined);
  },
});

/** The options by their names in SQL; what is undefined is no part of the JSON. */
function optionsOf(given: Given): Record<string, unknown> {
  const long = { min: 1, max: maxDelayMs };
  const options = {
    key: textOption(given, "key"),
    owner: textOption(given, "owner"),
    priority: integerOption(given, "priority", { min: -32_768, max: 32_767 }),
    run_after: momentOption(given, "run-after"),
    delay_ms: durationOption(given, "delay", { min: 0, max: maxDelayMs }),
    start_within_ms: durationOption(given, "start-within", long),
    max_attempts: integerOption(given, "max-attempts", { min: 1, max: 32_767 }),
    on_conflict: choiceOption(given, "on-conflict", ["conflict", "replace", "rerun"]),
    once: textOption(given, "once"),
    once_for_ms: durationOption(given, "once-for", long),
    ...costOf(given),
  };
  if (options.run_after !== undefined && options.delay_ms !== undefined) {
    throw usageError("--delay and --run-after contradict each other.", "Give one of them.");
  }
  if (options.once_for_ms !== undefined && options.once === undefined) {
    throw usageError("--once-for means nothing without --once.", "Give --once, or leave it out.");
  }
  if (options.on_conflict !== undefined && options.key === undefined) {
    throw usageError("--on-conflict means nothing without --key.", "Give --key, or leave it out.");
  }
  return options;
}

/** What the job costs, and whom. */
function costOf(given: Given): { cost?: number; account?: string } {
  const cost = integerOption(given, "cost", { min: 0, max: Number.MAX_SAFE_INTEGER });
  const account = textOption(given, "account") ?? textOption(given, "owner");
  if (cost === undefined) {
    if (textOption(given, "account") === undefined) return {};
    throw usageError("--account means nothing without --cost.", "Give --cost, or leave it out.");
  }
  if (account !== undefined) return { cost, account };
  throw usageError("--cost needs an account.", "Give --account or --owner.");
}

interface Answer {
  readonly outcome: "insufficient" | "created" | "duplicate" | "conflict" | "replaced" | "rerun";
  readonly id: string | null;
  readonly status: string | null;
  readonly holder?: { readonly id: string | null; readonly status: string };
}

function tell({ outcome, id, status, holder }: Answer, json: string | undefined): ExitCode {
  if (json !== undefined) printData(json);
  if (outcome === "insufficient") {
    printNote(
      "leasehold: insufficient: the account has less available than the job costs; nothing was written.\n" +
        "Grant it some: leasehold grant ACCOUNT AMOUNT --reference REFERENCE.",
    );
    return exitCodes.refused;
  }
  if (outcome !== "conflict") {
    if (json === undefined) printData(`${outcome} ${id} (${status ?? "deleted since"})`);
    return exitCodes.done;
  }
  const who = holder?.id ?? "a job of another owner";
  printNote(
    `leasehold: conflict: the key is held by ${who} (${holder?.status}); nothing was written.\n` +
      "Wait for that job, cancel it, or give --on-conflict replace or rerun.",
  );
  return exitCodes.refused;
}
