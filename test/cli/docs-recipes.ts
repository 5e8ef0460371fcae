import { until } from "../drain/support/client.ts";
import type { Running } from "./binary.ts";
import type { Line } from "./docs-commands.ts";

/** The jobs that are there when a command runs, by what has become of them. */
export interface Jobs {
  readonly queued: string;
  readonly failed: string;
  readonly completed: string;
}

/** What a line of the documentation can't know. */
export interface Surroundings {
  /** Of a migrated database. */
  readonly databaseUrl: string;
  /** Where an application serves leasehold's routes. */
  readonly applicationUrl: string;
  readonly freePort: number;
  readonly jobs: Jobs;
}

/** How a command is run, beside what its line says. */
export interface Recipe {
  /** Which job is the one that the line calls ID. */
  readonly id?: keyof Jobs;
  /** What is typed behind the line. */
  readonly more?: (surroundings: Surroundings) => string;
  /** Without a database that is configured. */
  readonly embedded?: true;
  /** Of one that runs until it is stopped: resolves once it has begun. */
  readonly begun?: (running: Running, line: string, surroundings: Surroundings) => Promise<void>;
}

const asItStands: Recipe = {};

/** Each command of leasehold's; and what a page writes in the place of one. */
const recipes: Readonly<Record<string, Recipe>> = {
  "--help": asItStands,
  COMMAND: asItStands,
  // Nobody is there to be asked.
  init: { more: () => "--yes" },
  migrate: asItStands,
  enqueue: asItStands,
  status: asItStands,
  jobs: asItStands,
  retry: { id: "failed" },
  cancel: asItStands,
  "run-now": asItStands,
  remove: { id: "completed" },
  stats: asItStands,
  kinds: asItStands,
  pause: asItStands,
  resume: asItStands,
  workers: asItStands,
  top: asItStands,
  // Its own port may be another's on this machine.
  dashboard: {
    more: ({ freePort }) => `--port ${freePort}`,
    async begun(_, __, { freePort }) {
      const asked = () => fetch(`http://127.0.0.1:${freePort}/`).catch(() => undefined);
      await until(async () => (await asked())?.status === 200, "the page is served", 30_000);
    },
  },
  credits: asItStands,
  grant: asItStands,
  refund: { id: "completed" },
  "verify-credits": asItStands,
  verify: asItStands,
  doctor: asItStands,
  alerts: asItStands,
  prune: asItStands,
  drain: asItStands,
  work: { begun: (running) => running.says("Working as") },
  dev: {
    embedded: true,
    async begun(running, line) {
      await running.says("DATABASE_URL=");
      await running.says(line.includes("--handlers") ? "Working as" : "No --handlers");
      if (line.includes(" -- ")) await running.says("next is ready");
    },
  },
};

/** How a line is run. Throws where nobody has said so. */
export function recipeOf({ command, place, program }: Line): Recipe {
  if (program === "node") return asItStands; // a module that the page shows
  const recipe = Object.hasOwn(recipes, command) ? recipes[command] : undefined;
  if (recipe !== undefined) return recipe;
  throw new Error(
    `${place} shows \`leasehold ${command}\`, which nobody has run: is there such a command? ` +
      "Then say in the recipes of test/cli/docs-recipes.ts how it is run.",
  );
}

/** What a page writes for a value of its reader's, and what is typed for it here. */
const placeholders: readonly (readonly [
  written: RegExp,
  typed: (surroundings: Surroundings, recipe: Recipe) => string,
])[] = [
  [/\bID\b…?/, ({ jobs }, { id = "queued" }) => jobs[id]],
  [/\bKIND\b…?/, () => "greet"],
  [/\bPAYLOAD\b/, () => `'{"name": "Ada"}'`],
  [/\bFILE\b/, () => "jobs.ts"],
  [/\bACCOUNT\b/, () => "ann"],
  [/\bAMOUNT\b/, () => "1"],
  [/\bTEXT\b/, () => "a-reference"],
  [/\bCOMMAND\b/, () => "jobs"],
  [/(?<=DATABASE_URL=)\S+/, ({ databaseUrl }) => databaseUrl],
  [/http:\/\/localhost:3000|https:\/\/app\.example\.com/, (s) => s.applicationUrl],
  [/(?<=--health-port )\d+/, () => "0"],
];

/** The line as it is typed. */
export function filledIn(line: string, recipe: Recipe, surroundings: Surroundings): string {
  const filled = placeholders.reduce(
    (text, [written, typed]) => text.replace(written, () => typed(surroundings, recipe)),
    line,
  );
  return recipe.more === undefined ? filled : `${filled} ${recipe.more(surroundings)}`;
}
