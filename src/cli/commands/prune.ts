import { maxDelayMs } from "../../define.ts";
import type { Argument } from "../arguments.ts";
import { command } from "../command.ts";
import { callForJson } from "../database.ts";
import { exitCodes } from "../exit-codes.ts";
import {
  choiceOptions,
  durationOption,
  flag,
  integerOption,
  kindOptions,
} from "../option-values.ts";
import { printData, printNote } from "../output.ts";
import { count } from "../readable.ts";

const defaultLimit = 1_000;
const finished = ["completed", "failed", "cancelled"] as const;

const args = {
  "older-than": {
    type: "string",
    valueHint: "duration",
    description: "Since the job finished (default: what its kind retains; else it stays)",
  },
  kind: {
    type: "string",
    valueHint: "name",
    repeatable: true,
    description: "Only this kind; repeatable",
  },
  status: {
    type: "string",
    valueHint: "status",
    repeatable: true,
    description: `Only ${finished.join(", ")}; repeatable`,
  },
  limit: {
    type: "string",
    valueHint: "n",
    description: `At most so many (default: ${defaultLimit})`,
  },
} as const satisfies Record<string, Argument>;

export const pruneCommand = command({
  name: "prune",
  description: "Deletes finished jobs",
  args,
  async run(given) {
    const limit = integerOption(given, "limit", { min: 1, max: 10_000 }) ?? defaultLimit;
    const options = {
      older_than_ms: durationOption(given, "older-than", { min: 0, max: maxDelayMs }),
      kinds: kindOptions(given, "kind"),
      statuses: choiceOptions(given, "status", finished),
      limit,
    };
    const json = await callForJson(given, "prune", { p_options: options });
    const { deleted } = JSON.parse(json) as { deleted: number };
    if (flag(given, "json")) {
      printData(json);
      return exitCodes.done;
    }
    printData(`${count(deleted, "job")} deleted`);
    if (deleted === limit) printNote("The limit is reached: there may be more, so run it again.");
    return exitCodes.done;
  },
});
