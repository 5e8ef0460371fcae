import type { Argument, Given } from "../arguments.ts";
import { command } from "../command.ts";
import { callForJson } from "../database.ts";
import { exitCodes } from "../exit-codes.ts";
import {
  choiceOptions,
  flag,
  idOption,
  integerOption,
  kindOption,
  textOption,
} from "../option-values.ts";
import { printData, printNote } from "../output.ts";
import { readableTime } from "../readable.ts";
import { type Column, formatTable } from "../table.ts";

const statuses = ["queued", "running", "completed", "failed", "cancelled"] as const;

const args = {
  status: {
    type: "string",
    valueHint: "status",
    repeatable: true,
    description: `Only ${statuses.join(", ")}; repeatable`,
  },
  kind: { type: "string", valueHint: "name", description: "Only this kind" },
  key: { type: "string", valueHint: "text", description: "Only this key" },
  owner: { type: "string", valueHint: "text", description: "Only this owner's jobs" },
  "error-code": { type: "string", valueHint: "code", description: "Only with this last error" },
  limit: { type: "string", valueHint: "n", description: "At most so many (default: 50)" },
  after: { type: "string", valueHint: "id", description: "The page behind this job" },
} as const satisfies Record<string, Argument>;

/** What SQL's list answers of a job, as far as it is shown. */
interface Listed {
  readonly id: string;
  readonly kind: string;
  readonly key: string | null;
  readonly owner: string | null;
  readonly status: (typeof statuses)[number];
  readonly attempts: number;
  readonly max_attempts: number;
  readonly error_code: string | null;
  readonly run_after: string;
  readonly lease_until: string | null;
  readonly created_at: string;
  readonly finished_at: string | null;
}

const columns: readonly Column<Listed>[] = [
  ["ID", (job) => job.id],
  ["STATUS", (job) => job.status],
  ["ATTEMPTS", (job) => `${job.attempts}/${job.max_attempts}`],
  ["CREATED", (job) => readableTime(job.created_at)],
  ["THEN", whatComesThen],
  ["KIND", (job) => job.kind],
  ["ERROR", (job) => job.error_code],
  ["OWNER", (job) => job.owner],
  ["KEY", (job) => job.key],
];

export const jobsCommand = command({
  name: "jobs",
  description: "Lists jobs, newest first, a page at a time",
  args,
  async run(given) {
    const json = await callForJson(given, "list", { p_filter: filterOf(given) });
    const { jobs, next } = JSON.parse(json) as { jobs: Listed[]; next: string | null };
    if (flag(given, "json")) {
      printData(json);
      return exitCodes.done;
    }
    if (jobs.length > 0) printData(formatTable(columns, jobs));
    else printNote("No jobs.");
    if (next !== null) printNote(`There are more: --after ${next}`);
    return exitCodes.done;
  },
});

function filterOf(given: Given): Record<string, unknown> {
  return {
    status: choiceOptions(given, "status", statuses),
    kind: kindOption(given, "kind"),
    key: textOption(given, "key"),
    owner: textOption(given, "owner"),
    error_code: textOption(given, "error-code"),
    limit: integerOption(given, "limit", { min: 1, max: 10_000 }),
    after: idOption(given, "after"),
  };
}

/** The time that matters most for a job in its status. */
function whatComesThen(job: Listed): string {
  if (job.status === "queued") return `due ${readableTime(job.run_after)}`;
  if (job.status === "running") return `leased until ${readableTime(job.lease_until)}`;
  return `ended ${readableTime(job.finished_at)}`;
}
