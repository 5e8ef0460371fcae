import type { Argument, Given } from "../arguments.ts";
import { command } from "../command.ts";
import { schemaOf } from "../database.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { usageError } from "../failure.ts";
import { type Agreed, agree, type DrawUp } from "../init/by-questions.ts";
import type { Choices } from "../init/choices.ts";
import { readPositionals } from "../init/cron-schedule.ts";
import { decide, isWritten } from "../init/decide.ts";
import { unifiedDiff } from "../init/diff.ts";
import { openFolder } from "../init/folder.ts";
import { look } from "../init/look.ts";
import { plan } from "../init/plan.ts";
import type { Project } from "../init/project.ts";
import { planJson, planText, stepsText } from "../init/show.ts";
import { nextSteps } from "../init/steps.ts";
import { write } from "../init/write.ts";
import { flag } from "../option-values.ts";
import { printData, printNote } from "../output.ts";
import { count } from "../readable.ts";

const args = {
  folder: {
    type: "positional",
    required: false,
    description: "The project's folder (default: this one)",
  },
  schedule: {
    type: "positional",
    required: false,
    description: 'With --vercel-cron: when, such as "*/5 * * * *" (default: once a day)',
  },
  yes: { type: "boolean", description: "Ask nothing; a file of yours that differs is kept" },
  "dry-run": {
    type: "boolean",
    description: "Print what would be written as a unified diff, and write nothing",
  },
  "vercel-cron": {
    type: "boolean",
    description: "An entry in vercel.json by which Vercel's cron calls the drain",
  },
} as const satisfies Record<string, Argument>;

export const initCommand = command({
  name: "init",
  description: "Sets leasehold up in a project: its migration, a client, a first job, the route",
  args,
  async run(given) {
    const cron = flag(given, "vercel-cron");
    const { folder: path, vercelCron } = readPositionals(given.positionals, cron);
    const choices: Choices = { schema: schemaOf(given), vercelCron, now: new Date() };
    const folder = openFolder(path);
    const project = look(folder);
    const drawUp: DrawUp = (chosen) => decide(folder, plan(project, chosen));
    const planned: Agreed = { choices, decisions: drawUp(choices) };
    if (flag(given, "dry-run")) return dryRun(given, project, planned);
    if (!flag(given, "json")) printData(planText(project, planned.decisions, columns()));
    const agreed = await agreement(given, project, planned, drawUp);
    if (agreed === "declined" || agreed === "left") {
      printNote("Nothing was written.");
      return agreed === "left" ? exitCodes.interrupted : exitCodes.done;
    }
    return carryOut(given, project, agreed);
  },
});

/** The diff is data, so that `git apply` may read it; the plan stands beside it for people. */
async function dryRun(given: Given, project: Project, planned: Agreed): Promise<ExitCode> {
  const { decisions } = planned;
  if (flag(given, "json")) {
    printData(planJson(project, planned, false));
    return exitCodes.done;
  }
  const kept = await unifiedDiff(decisions.filter(({ action }) => action === "keep"));
  const diff = await unifiedDiff(decisions.filter(isWritten));
  printNote(planText(project, decisions, columns()));
  if (kept !== "") printNote(`\nKept as they are; what init would write is:\n${kept}`);
  printNote(`\n${diff === "" ? "Nothing would be written." : "This would be written:"}`);
  if (diff !== "") printData(diff);
  return exitCodes.done;
}

/** By --yes, by answers, or because there is nothing to agree to. Throws where nobody can be asked. */
async function agreement(
  given: Given,
  project: Project,
  planned: Agreed,
  drawUp: DrawUp,
): ReturnType<typeof agree> {
  if (flag(given, "yes")) return planned;
  const terminal = process.stdin.isTTY && process.stderr.isTTY && !flag(given, "json");
  if (terminal) {
    printNote("");
    return agree(project, planned.choices, drawUp);
  }
  if (!planned.decisions.some(isWritten)) return planned;
  if (flag(given, "json")) printData(planJson(project, planned, false));
  const hint = "Give --yes to write these files, or --dry-run to see them as a diff.";
  throw usageError("Nothing was written: there is no terminal to ask at.", hint);
}

function carryOut(given: Given, project: Project, agreed: Agreed): ExitCode {
  const files = agreed.decisions.filter(isWritten);
  write(files);
  if (flag(given, "json")) {
    printData(planJson(project, agreed, files.length > 0));
    return exitCodes.done;
  }
  const allInPlace = agreed.decisions.every(({ action }) => action === "none");
  const nothing = allInPlace ? "Nothing to write: everything is in place." : "Nothing to write.";
  const done = files.length > 0 ? `Wrote ${count(files.length, "file")}.` : nothing;
  printData(`\n${done}\n\n${stepsText(nextSteps(project, agreed.choices))}`);
  return exitCodes.done;
}

/** Of the terminal; where there is none, lines may be as long as they are. */
function columns(): number {
  return process.stdout.columns ?? Number.POSITIVE_INFINITY;
}
