import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { leasehold } from "./binary.ts";
import { makeInitProject, manifest, nextProject, supabaseProject } from "./init-project.ts";
import { hasScript, initInTerminal } from "./init-terminal.ts";

const vercelJson = '{ "crons": [{ "path": "/api/leasehold/drain", "schedule": "0 0 * * *" }] }';
const route = "app/api/leasehold/[...route]/route.ts";

/** Runs `leasehold init` in a project, without a terminal. */
const init = (root: string, ...args: string[]) => leasehold(["init", ...args], { cwd: root });

describe("leasehold init without a terminal", () => {
  it("shows the plan and asks for --yes", async () => {
    const project = makeInitProject(nextProject);
    const files = project.files();
    const end = await init(project.root);
    expect(end.code).toBe(2);
    expect(end.stdout).toContain(`${project.root}: Next 16.4 in app, TypeScript, npm\n`);
    expect(end.stdout).toMatch(/^create {2}lib\/jobs\.ts +the kinds of jobs$/m);
    expect(end.stderr).toBe(
      "leasehold: Nothing was written: there is no terminal to ask at.\n" +
        "Give --yes to write these files, or --dry-run to see them as a diff.\n",
    );
    expect(project.files()).toEqual(files);
  });

  it("writes with --yes, and tells what comes next", async () => {
    const project = makeInitProject(supabaseProject);
    const end = await init(project.root, "--yes");
    expect(end).toMatchObject({ code: 0, stderr: "" });
    expect(end.stdout).toContain("\nWrote 8 files.\n\nNext:\n1. Install what is missing.\n");
    expect(end.stdout).toContain("     npm install leasehold pg\n");
    expect(project.get(route)).toContain("export const maxDuration = 300;");

    const files = project.files();
    const again = await init(project.root); // nothing to agree to, so nobody is asked
    expect(again).toMatchObject({ code: 0, stderr: "" });
    expect(again.stdout).toContain("\nNothing to write: everything is in place.\n");
    expect(project.files()).toEqual(files);
  });

  it("takes the folder of the project, and one schedule in any order", async () => {
    const project = makeInitProject(nextProject);
    const end = await init(tmpdir(), "--yes", "--vercel-cron", "*/5 * * * *", project.root);
    expect(end.code).toBe(0);
    expect(JSON.parse(project.get("vercel.json") ?? "").crons).toEqual([
      { path: "/api/leasehold/drain", schedule: "*/5 * * * *" },
    ]);
    rmSync(join(project.root, "vercel.json"));
    await init(project.root, "--vercel-cron", "--yes");
    expect(project.get("vercel.json")).toContain('"schedule": "0 0 * * *"');
  });

  it("tells of what it keeps and of what is left to a person", async () => {
    const project = makeInitProject({
      ...nextProject,
      "package.json": manifest({ next: "15.3.0", "@electric-sql/pglite": "0.5" }),
      "lib/jobs.ts": "// mine\n",
      "next.config.mjs": "export default {};\n",
    });
    const end = await init(project.root, "--yes");
    expect(end.code).toBe(0);
    expect(end.stdout).toMatch(/^kept {5}lib\/jobs\.ts +it differs: see --dry-run$/m);
    expect(end.stdout).toContain(
      "next.config.mjs has a shape of its own, so it is left to you. Write there:\n" +
        '     serverExternalPackages: ["@electric-sql/pglite"],\n',
    );
    expect(project.get("lib/jobs.ts")).toBe("// mine\n");
  });

  it("says why there is no route, and what to do", async () => {
    const project = makeInitProject({
      "package.json": manifest({ next: "16.4.3" }),
      "pages/a.js": "",
    });
    const end = await init(project.root, "--yes");
    expect(end.code).toBe(0);
    expect(end.stdout).toContain("No route: there is no app folder. Make one,");
    expect(end.stdout).toContain("npx leasehold drain lib/leasehold.js");
  });
});

describe("leasehold init --dry-run", () => {
  it("prints a diff that git applies, to the very files that --yes writes", async () => {
    const files = {
      ...supabaseProject,
      ".gitignore": ".env*\r\nnode_modules\r\n",
      ".env.example": "A=1", // without an end of line
      "vercel.json": "{}\n",
    };
    const dry = makeInitProject(files);
    const end = await init(dry.root, "--dry-run", "--vercel-cron");
    expect(end.code).toBe(0);
    expect(end.stderr).toContain("create  lib/jobs.ts");
    expect(end.stderr).toContain("This would be written:");
    expect(dry.files()).toEqual(makeInitProject(files).files());

    const real = makeInitProject(files);
    await init(real.root, "--yes", "--vercel-cron");
    rmSync(join(dry.root, ".git"), { recursive: true });
    execFileSync("git", ["apply", "-"], { cwd: dry.root, input: end.stdout });
    // The times in the names of the migrations differ by the moment.
    const unstamped = (texts: Record<string, string>) =>
      Object.entries(texts).map(([path, text]) => [path.replace(/\d{14}_/, ""), text]);
    expect(unstamped(dry.files())).toEqual(unstamped(real.files()));
  });

  it("shows how a file that is kept differs, beside the diff", async () => {
    const project = makeInitProject(nextProject);
    project.init();
    project.put("lib/jobs.ts", `${project.get("lib/jobs.ts")}// mine\n`);
    const end = await init(project.root, "--dry-run", "--yes");
    expect(end).toMatchObject({ code: 0, stdout: "" });
    expect(end.stderr).toContain(
      "Kept as they are; what init would write is:\ndiff --git a/lib/jobs.ts",
    );
    expect(end.stderr).toContain("\n-// mine\n");
    expect(end.stderr).toContain("Nothing would be written.");
  });
});

describe("leasehold init --json", () => {
  const value = (stdout: string) => {
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    return JSON.parse(stdout);
  };

  it("prints the plan as one value, and writes with --yes alone", async () => {
    const project = makeInitProject(nextProject);
    const planned = await init(project.root, "--json");
    expect(planned.code).toBe(2);
    expect(value(planned.stdout)).toMatchObject({ root: project.root, written: false });
    expect(value((await init(project.root, "--json", "--dry-run")).stdout).written).toBe(false);
    expect(project.get("lib/jobs.ts")).toBeUndefined();

    const done = await init(project.root, "--json", "--yes");
    expect(done).toMatchObject({ code: 0, stderr: "" });
    const { written, files, next } = value(done.stdout);
    expect(written).toBe(true);
    expect(files).toContainEqual({
      path: route,
      action: "create",
      purpose: "start, follow, drain over HTTP",
    });
    expect(next[0]).toEqual({
      say: "Install what is missing.",
      run: ["npm install leasehold pg", "npm install -D @types/pg"],
    });
    expect(value((await init(project.root, "--json", "--yes")).stdout).written).toBe(false);
  });
});

describe("a mistake", () => {
  it.each<[string[], string]>([
    [["--vercel-cron", "* * * * MON"], '--vercel-cron is "* * * * MON".\nGive five fields'],
    [["--vercel-cron", "@daily"], '--vercel-cron is "@daily".'],
    [["*/5 * * * *"], "is a schedule, which goes with --vercel-cron."],
    [["a", "b"], 'init takes no further argument "b".'],
    [["a", "b", "c"], 'init takes no further argument "c".'],
    [["--vercel-cron", "* * * * *", "0 0 * * *"], "init takes no further argument"],
    [["--schema", "public"], 'schema is "public".'],
    [["--yess"], "Did you mean --yes?"],
  ])("on the command line ends with 2 and writes nothing: %j", async (args, said) => {
    const project = makeInitProject(nextProject);
    const files = project.files();
    const end = await init(project.root, "--yes", ...args);
    expect(end).toMatchObject({ code: 2, stdout: "" });
    expect(end.stderr).toContain(said);
    expect(project.files()).toEqual(files);
  });

  it.each<[string, Record<string, string>, string[], string]>([
    ["no package.json", { a: "" }, [], "or make one first: npx create-next-app@latest."],
    ["no such folder", {}, ["nowhere"], "Give the folder of your project"],
    [
      "a broken vercel.json",
      { ...nextProject, "vercel.json": "{" },
      ["--vercel-cron"],
      "is no JSON",
    ],
    [
      "a broken config.toml",
      { ...nextProject, "supabase/config.toml": "[api]\nschemas = [" },
      [],
      "supabase/config.toml is no TOML: line 2 has a list without an end.\nNothing was written.",
    ],
  ])("in the project ends with 1 and writes nothing: %s", async (_, files, args, said) => {
    const project = makeInitProject(files);
    const before = project.files();
    const end = await init(project.root, "--yes", ...args);
    expect(end).toMatchObject({ code: 1, stdout: "" });
    expect(end.stderr).toContain(said);
    expect(project.files()).toEqual(before);
  });
});

describe.skipIf(!hasScript)("leasehold init at a terminal", () => {
  it("asks, and writes what was agreed to", async () => {
    const project = makeInitProject(nextProject);
    const terminal = initInTerminal(project.root);
    await terminal.says("Have Vercel's cron call the drain once a day (vercel.json)? [y/N]");
    terminal.type("what\n");
    await terminal.says("Have Vercel's cron");
    terminal.type("y\n");
    await terminal.says("Write 6 files? [Y/n]");
    terminal.type("\n");
    expect(await terminal.ended).toBe(0);
    expect(terminal.printed()).toContain("Wrote 6 files.");
    expect(project.get("vercel.json")).toContain("/api/leasehold/drain");
    expect(project.get(route)).toBeDefined();
  });

  it("writes nothing where the answer is no", async () => {
    const project = makeInitProject(nextProject);
    const files = project.files();
    const terminal = initInTerminal(project.root);
    await terminal.says("[y/N]");
    terminal.type("\n");
    await terminal.says("Write 5 files? [Y/n]");
    terminal.type("n\n");
    expect(await terminal.ended).toBe(0);
    expect(terminal.printed()).toMatch(/Nothing was written\.\n$/);
    expect(project.files()).toEqual(files);
  });

  it.each([
    ["Ctrl-C", "\u0003"],
    ["Ctrl-D", "\u0004"],
  ])("writes nothing at %s", async (_, key) => {
    const project = makeInitProject(nextProject);
    const files = project.files();
    const terminal = initInTerminal(project.root);
    await terminal.says("[y/N]");
    terminal.type("y\n");
    await terminal.says("[Y/n]");
    terminal.type(key);
    expect(await terminal.ended).toBe(130);
    expect(terminal.printed()).toMatch(/\nNothing was written\.\n$/);
    expect(project.files()).toEqual(files);
  });

  it("asks for each file that differs, shows how, and keeps it by default", async () => {
    const project = makeInitProject({ ...nextProject, "vercel.json": vercelJson });
    project.init();
    project.put("lib/jobs.ts", "// mine\r\n");
    project.put("lib/leasehold.ts", "// mine\n");
    const terminal = initInTerminal(project.root);
    await terminal.says("lib/jobs.ts differs. Overwrite it? [y/N, d shows the difference]");
    terminal.type("d\n");
    await terminal.says('+import { defineJob } from "leasehold";');
    await terminal.says("Overwrite it?");
    terminal.type("y\n");
    await terminal.says("lib/leasehold.ts differs.");
    terminal.type("\n");
    await terminal.says("Write 1 file? [Y/n]");
    terminal.type("\n");
    expect(await terminal.ended).toBe(0);
    expect(project.get("lib/jobs.ts")).toMatch(/^import \{ defineJob \} from "leasehold";\r\n/);
    expect(project.get("lib/leasehold.ts")).toBe("// mine\n");
  });
});
