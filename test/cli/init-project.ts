import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { onTestFinished } from "vitest";
import type { Choices } from "../../src/cli/init/choices.ts";
import { type Decision, decide, isWritten } from "../../src/cli/init/decide.ts";
import { openFolder } from "../../src/cli/init/folder.ts";
import { look } from "../../src/cli/init/look.ts";
import { plan } from "../../src/cli/init/plan.ts";
import type { Project } from "../../src/cli/init/project.ts";
import { write } from "../../src/cli/init/write.ts";

/** A project for `leasehold init`, on the disk, gone at the end of the test. */
export interface InitProject {
  readonly root: string;
  put(path: string, text: string): void;
  /** Undefined where there is no such file. */
  get(path: string): string | undefined;
  /** Every file with its text. */
  files(): Record<string, string>;
  look(): Project;
  /** What init would do. */
  decide(choices?: Partial<Choices>): Decision[];
  /** Does it, as with --yes; answers what it has written. */
  init(choices?: Partial<Choices>): string[];
}

const usual: Choices = {
  schema: "leasehold",
  vercelCron: undefined,
  now: new Date("2030-01-31T12:00:00Z"),
};

/** package.json with these dependencies, and whatever else. */
export function manifest(dependencies: Record<string, string> = {}, others: object = {}): string {
  return JSON.stringify({ name: "app", dependencies, ...others });
}

/** As create-next-app leaves it, in parts. */
export const nextProject: Readonly<Record<string, string>> = {
  "package.json": manifest({ next: "16.4.3", react: "19.3.0" }),
  "tsconfig.json": '{ "compilerOptions": { "paths": { "@/*": ["./*"] } } }',
  "app/page.tsx": "export default () => null;\n",
  ".gitignore": "/node_modules\n.env*\n",
};

export const supabaseConfigText = `# The project's settings.
project_id = "app"

[api]
enabled = true
port = 54321
# Which schemas are served.
schemas = ["public", "graphql_public"]
max_rows = 1000

[db]
port = 54322
`;

/** The same with a Supabase folder. */
export const supabaseProject: Readonly<Record<string, string>> = {
  ...nextProject,
  "supabase/config.toml": supabaseConfigText,
};

export function makeInitProject(files: Readonly<Record<string, string>>): InitProject {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "leasehold-init-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const project: InitProject = {
    root,
    put(path, text) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    },
    get: (path) =>
      existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : undefined,
    files() {
      const paths = readdirSync(root, { recursive: true, encoding: "utf8" }).sort();
      const texts = paths
        .filter((path) => statSync(join(root, path)).isFile())
        .map((path) => [relative(root, join(root, path)), readFileSync(join(root, path), "utf8")]);
      return Object.fromEntries(texts);
    },
    look: () => look(openFolder(root)),
    decide: (choices = {}) =>
      decide(openFolder(root), plan(project.look(), { ...usual, ...choices })),
    init(choices) {
      const written = project.decide(choices).filter(isWritten);
      write(written);
      return written.map(({ path }) => path);
    },
  };
  // A folder of its own: no lock file above may be looked at.
  mkdirSync(join(root, ".git"));
  for (const [path, text] of Object.entries(files)) project.put(path, text);
  return project;
}

/** What becomes of each file. */
export function actions(decisions: readonly Decision[]): Record<string, string> {
  return Object.fromEntries(decisions.map(({ path, action }) => [path, action]));
}
