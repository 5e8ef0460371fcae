import { printData, printNote } from "../output.ts";
import { count } from "../readable.ts";
import { openQuestions, type Questions } from "./ask.ts";
import type { Choices } from "./choices.ts";
import { daily } from "./cron-schedule.ts";
import { type Decision, isWritten } from "./decide.ts";
import { unifiedDiff } from "./diff.ts";
import type { Project } from "./project.ts";

/** What was chosen, and what becomes of each file by it. */
export interface Agreed {
  readonly choices: Choices;
  readonly decisions: readonly Decision[];
}

/** Makes the plan for some choices. */
export type DrawUp = (choices: Choices) => readonly Decision[];

/** A question was answered by Ctrl-C, Ctrl-D or the end of the terminal. */
class Interrupted extends Error {}

/**
 * Asks for what the command line left open, file by file where one differs, and at last whether to
 * write. "declined" where that was answered by no, "left" where the person left.
 */
export async function agree(
  project: Project,
  choices: Choices,
  drawUp: DrawUp,
): Promise<Agreed | "declined" | "left"> {
  const questions = openQuestions();
  try {
    const chosen = await askForCron(questions, project, choices);
    const decisions = await askForKept(questions, drawUp(chosen));
    const files = decisions.filter(isWritten);
    const question = `Write ${count(files.length, "file")}? [Y/n]`;
    const yes = files.length === 0 || (await answerTo(questions, question, true));
    return yes ? { choices: chosen, decisions } : "declined";
  } catch (error) {
    if (error instanceof Interrupted) return "left";
    throw error;
  } finally {
    questions.close();
  }
}

async function askForCron(
  questions: Questions,
  { next, vercel }: Project,
  choices: Choices,
): Promise<Choices> {
  const open = choices.vercelCron === undefined && !vercel.callsDrain;
  if (next?.app === undefined || !open) return choices;
  const question = "Have Vercel's cron call the drain once a day (vercel.json)? [y/N]";
  const yes = await answerTo(questions, question, false);
  return yes ? { ...choices, vercelCron: daily } : choices;
}

/** A file that differs is overwritten where the person says so. */
async function askForKept(
  questions: Questions,
  decisions: readonly Decision[],
): Promise<Decision[]> {
  const asked: Decision[] = [];
  for (const decision of decisions) {
    const { action, path } = decision;
    const question = `${path} differs. Overwrite it? [y/N, d shows the difference]`;
    const overwrite =
      action === "keep" &&
      (await answerTo(questions, question, false, async (answer) => {
        if (answer === "d") printData(await unifiedDiff([decision]));
      }));
    asked.push(overwrite ? { ...decision, action: "edit" } : decision);
  }
  return asked;
}

async function answerTo(
  questions: Questions,
  question: string,
  usual: boolean,
  other?: (answer: string) => Promise<void>,
): Promise<boolean> {
  const answer = await questions.confirm(question, usual, other);
  if (answer !== undefined) return answer;
  printNote(""); // the cursor still stands behind the question
  throw new Interrupted();
}
