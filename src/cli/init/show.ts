import { type Column, formatTable } from "../table.ts";
import { displayWidth, oneLine } from "../text-width.ts";
import type { Agreed } from "./by-questions.ts";
import { doorOf } from "./database-door.ts";
import type { Decision } from "./decide.ts";
import type { Project } from "./project.ts";
import { nextSteps, type Step } from "./steps.ts";

/** The plan: what was found, a line for each file, and what is left to a person's hand. */
export function planText(
  project: Project,
  decisions: readonly Decision[],
  columns: number,
): string {
  const { next } = project;
  return [
    `${oneLine(project.root)}: ${foundIn(project)}`,
    filesTable(decisions, columns),
    ...decisions.map(byHandText),
    next?.withoutApp ?? "",
  ]
    .filter((paragraph) => paragraph !== "")
    .join("\n\n");
}

/** "Next 16.4 in app, TypeScript, npm, Supabase, pg". */
function foundIn({ next, code, packageManager, migrations, supabase, packages }: Project): string {
  const tools = { prisma: "Prisma", drizzle: "Drizzle", knex: "Knex", supabase: "Supabase" };
  const tool = migrations?.tool;
  const door = doorOf({ packages });
  return [
    next && ["Next", next.version, next.app && `in ${next.app}`].filter(Boolean).join(" "),
    code.typescript ? "TypeScript" : "JavaScript",
    packageManager,
    supabase && tools.supabase,
    tool !== "supabase" && tool !== undefined && tools[tool],
    door === "supabase" ? "supabase-js" : packages.has(door) && door,
  ]
    .filter(Boolean)
    .join(", ");
}

const labels = {
  create: "create",
  edit: "edit",
  none: "in place",
  keep: "kept",
  "by hand": "by hand",
} as const;

const columnsOfFiles: readonly Column<Decision>[] = [
  ["", ({ action }) => labels[action]],
  ["FILE", ({ path }) => path],
  ["FOR", ({ action, purpose }) => (action === "keep" ? "it differs: see --dry-run" : purpose)],
];

/** What the files are for is left out where the lines would not fit. */
function filesTable(decisions: readonly Decision[], columns: number): string {
  const table = formatTable(columnsOfFiles, decisions);
  const fits = table.split("\n").every((line) => displayWidth(line) <= columns);
  return fits ? table : formatTable(columnsOfFiles.slice(0, 2), decisions);
}

function byHandText({ path, byHand }: Decision): string {
  if (byHand === undefined) return "";
  const what = `${path} ${byHand.because}, so it is left to you`;
  return byHand.snippet === "" ? `${what}.` : `${what}. Write there:\n${indented(byHand.snippet)}`;
}

/** What is left to do, numbered, with what to type indented below. */
export function stepsText(steps: readonly Step[]): string {
  const lines = steps.map(({ say, run }, i) => {
    const typed = run.map((line) => `\n${indented(line)}`).join("");
    return `${i + 1}. ${say}${typed}`;
  });
  return `Next:\n${lines.join("\n")}`;
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, "     ");
}

/** The plan for programs: each file with what becomes of it, and what is left to do. */
export function planJson(
  project: Project,
  { choices, decisions }: Agreed,
  written: boolean,
): string {
  const files = decisions.map(({ path, action, purpose, byHand }) => ({
    path,
    action,
    purpose,
    ...(byHand !== undefined && { byHand }),
  }));
  return JSON.stringify({ root: project.root, written, files, next: nextSteps(project, choices) });
}
