import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { nextEnv } from "./next-app.ts";

/** An application that create-next-app has just made: nothing is installed yet. */
export interface FreshApp {
  readonly folder: string;
  /** Runs a program in the application's folder; answers its standard output, rejects where it fails. */
  run(program: string, ...args: string[]): Promise<string>;
  /** `leasehold` of the package as it would be published, by npx: it need not be installed. */
  npx(...args: string[]): Promise<string>;
  /** Runs what a step of init says, with the packed leasehold for the one of the registry. */
  follow(command: string): Promise<void>;
  /** `next build` with the scripts' own bundler and its check of types. */
  build(): Promise<string>;
  read(path: string): string;
  write(path: string, text: string): void;
  remove(): void;
}

/** What init prints with --json. */
export interface Plan {
  readonly written: boolean;
  readonly files: readonly { readonly path: string; readonly action: string }[];
  readonly next: readonly Step[];
}

/** What init leaves to a person, with what to type for it. */
export interface Step {
  readonly say: string;
  readonly run: readonly string[];
}

/** The version whose options and templates the tests know; the name and the folder come behind. */
const createNextApp = ["--yes", "create-next-app@16.4.3"];

/** Nothing is asked, nothing is fetched: the empty template has no fonts. */
const withoutQuestions = [
  ..."--app --empty --no-eslint --no-tailwind --use-npm --skip-install --disable-git --yes".split(
    " ",
  ),
  ...["--import-alias", "@/*"],
];

const exec = promisify(execFile);
const apps = join(import.meta.dirname, "../apps");
const buildWithinMs = 300_000;

/** Makes one with create-next-app, and Supabase's folder where it is wanted. */
export async function createFreshApp(
  options: readonly string[],
  { supabase = false }: { supabase?: boolean } = {},
): Promise<FreshApp> {
  const { RIG_FOLDER = "", LEASEHOLD_TARBALL = "" } = process.env;
  if (!LEASEHOLD_TARBALL) throw new Error("Run this with npm run test:next");
  const parent = mkdtempSync(join(RIG_FOLDER, "fresh-"));
  const folder = join(parent, "web");
  // Without the environment of the tests: what init finds out must stand in the folder.
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, CI: "1", ...nextEnv };
  const runIn = async (cwd: string, program: string, args: readonly string[]): Promise<string> => {
    const limits = { timeout: buildWithinMs, maxBuffer: 50 * 1_048_576 };
    try {
      return (await exec(program, args, { cwd, env, ...limits })).stdout;
    } catch (error) {
      const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
      throw new Error(`${program} ${args.join(" ")}:\n${stdout}${stderr}`, { cause: error });
    }
  };
  await runIn(parent, "npx", [...createNextApp, "web", ...withoutQuestions, ...options]);
  if (supabase) {
    mkdirSync(join(folder, "supabase"));
    cpSync(join(apps, "supabase/config.toml"), join(folder, "supabase/config.toml"));
  }
  const app: FreshApp = {
    folder,
    run: (program, ...args) => runIn(folder, program, args),
    npx: (...args) =>
      app.run("npx", "--yes", `--package=file:${LEASEHOLD_TARBALL}`, "--", "leasehold", ...args),
    async follow(command) {
      const [program = "", ...args] = command.split(" ");
      const own = args.map((arg) => (arg === "leasehold" ? `file:${LEASEHOLD_TARBALL}` : arg));
      await app.run(program, ...own, "--no-audit", "--no-fund");
    },
    build: () => app.run("npm", "run", "build"),
    read: (path) => readFileSync(join(folder, path), "utf8"),
    write(path, text) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    },
    remove: () => rmSync(parent, { recursive: true, force: true, maxRetries: 10 }),
  };
  if (!existsSync(join(folder, "package.json"))) throw new Error("create-next-app made nothing");
  return app;
}
