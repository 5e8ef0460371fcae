import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isWritten } from "../../src/cli/init/decide.ts";
import { write } from "../../src/cli/init/write.ts";
import {
  actions,
  type InitProject,
  makeInitProject,
  nextProject,
  supabaseConfigText,
  supabaseProject,
} from "./init-project.ts";

const crlf = (text: string): string => text.replaceAll("\n", "\r\n");

/** Everything that lies in a folder, however deep. */
const namesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();

/** As somebody who may not do everything: root may. */
function asOrdinaryUser<T>(project: InitProject, act: () => T): T {
  if (process.geteuid?.() !== 0) return act();
  for (const path of ["", ...namesIn(project.root)])
    chownSync(join(project.root, path), 65_534, 65_534);
  process.seteuid?.(65_534);
  try {
    return act();
  } finally {
    process.seteuid?.(0);
  }
}

describe("a second run", () => {
  it("changes nothing, in a project with everything", () => {
    const project = makeInitProject({ ...supabaseProject, "vercel.json": "{}\n" });
    const cron = { vercelCron: "0 0 * * *" };
    expect(project.init(cron)).toHaveLength(9);
    const files = project.files();
    expect(project.init(cron)).toEqual([]);
    expect(new Set(Object.values(actions(project.decide(cron))))).toEqual(new Set(["none"]));
    expect(project.files()).toEqual(files);
  });
});

describe("a file of init's that somebody has edited", () => {
  const paths = ["lib/jobs.ts", "lib/leasehold.ts", "app/api/leasehold/[...route]/route.ts"];

  it.each(paths)("stays as it is: %s", (path) => {
    const project = makeInitProject(nextProject);
    project.init();
    project.put(path, "// mine\n");
    expect(actions(project.decide())[path]).toBe("keep");
    expect(project.init()).toEqual([]);
    expect(project.get(path)).toBe("// mine\n");
  });

  it("that was there before init as well", () => {
    const project = makeInitProject({ ...nextProject, "lib/jobs.ts": "export {};\n" });
    expect(project.init()).not.toContain("lib/jobs.ts");
    expect(project.get("lib/jobs.ts")).toBe("export {};\n");
  });

  it("counts as the same where only the ends of its lines differ", () => {
    const project = makeInitProject(nextProject);
    project.init();
    project.put("lib/jobs.ts", crlf(project.get("lib/jobs.ts") ?? ""));
    expect(actions(project.decide())["lib/jobs.ts"]).toBe("none");
  });
});

describe("a file that is edited", () => {
  it("keeps its CRLF and its byte order mark", () => {
    const project = makeInitProject({
      ...supabaseProject,
      "supabase/config.toml": `\ufeff${crlf(supabaseConfigText)}`,
      ".gitignore": crlf("a\n.env*\n"),
      ".env.example": "\ufeffA=1\n",
      "vercel.json": crlf('{\n  "x": 1\n}\n'),
    });
    project.init({ vercelCron: "0 0 * * *" });
    const config = project.get("supabase/config.toml") ?? "";
    expect(config).toBe(
      `\ufeff${crlf(supabaseConfigText.replace('"graphql_public"]', '"graphql_public", "leasehold"]'))}`,
    );
    expect(project.get(".gitignore")).toBe(
      crlf("a\n.env*\n\n# leasehold\n.leasehold/\n!.env.example\n"),
    );
    expect(project.get(".env.example")).toMatch(/^\ufeffA=1\n\n# PostgreSQL/);
    expect(project.get("vercel.json")).not.toMatch(/[^\r]\n/);
    expect(project.init({ vercelCron: "0 0 * * *" })).toEqual([]);
  });

  it("of both sorts of lines keeps each as it is", () => {
    const config = '[api]\r\nport = 1 # one\nschemas = ["a"]\r\n\r\n[db]\n';
    const project = makeInitProject({ ...supabaseProject, "supabase/config.toml": config });
    project.init();
    expect(project.get("supabase/config.toml")).toBe(config.replace('"a"', '"a", "leasehold"'));
    expect(project.init()).toEqual([]);
  });

  it("keeps its mode, and leaves no draft behind", () => {
    const project = makeInitProject(nextProject);
    chmodSync(join(project.root, ".gitignore"), 0o640);
    project.init();
    expect(statSync(join(project.root, ".gitignore")).mode & 0o777).toBe(0o640);
    expect(namesIn(project.root).join("\n")).not.toContain("leasehold-init");
  });

  it("is not written over what somebody wrote since it was read", () => {
    const project = makeInitProject(nextProject);
    const decisions = project.decide().filter(isWritten);
    project.put(".env.example", "SINCE=1\n");
    expect(() => write(decisions)).toThrow(
      ".env.example can't be written: it was changed meanwhile",
    );
    expect(project.get(".env.example")).toBe("SINCE=1\n");
  });
});

describe("a symlink", () => {
  /** A folder outside of the project. */
  const outside = (): string => {
    const folder = mkdtempSync(join(tmpdir(), "leasehold-outside-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  };

  it("out of the project is not followed, whether it is the file or a folder above", () => {
    const elsewhere = outside();
    writeFileSync(join(elsewhere, "env"), "A=1\n");
    mkdirSync(join(elsewhere, "lib"));
    const project = makeInitProject(nextProject);
    symlinkSync(join(elsewhere, "env"), join(project.root, ".env.example"));
    symlinkSync(join(elsewhere, "lib"), join(project.root, "lib"));
    const planned = actions(project.decide());
    expect(planned).toMatchObject({
      "lib/jobs.ts": "by hand",
      "lib/leasehold.ts": "by hand",
      ".env.example": "by hand",
      ".gitignore": "edit",
    });
    project.init();
    expect(namesIn(elsewhere)).toEqual(["env", "lib"]);
    expect(readFileSync(join(elsewhere, "env"), "utf8")).toBe("A=1\n");
  });

  it("to nowhere is left alone", () => {
    const project = makeInitProject(nextProject);
    symlinkSync(join(outside(), "nothing"), join(project.root, ".env.example"));
    expect(actions(project.decide())[".env.example"]).toBe("by hand");
  });

  it("within the project stays one, and the file behind it is written", () => {
    const project = makeInitProject({ ...nextProject, "config/env": "A=1\n" });
    symlinkSync("config/env", join(project.root, ".env.example"));
    project.init();
    expect(lstatSync(join(project.root, ".env.example")).isSymbolicLink()).toBe(true);
    expect(project.get("config/env")).toContain("CRON_SECRET=");
  });

  it("may be the project itself", () => {
    const project = makeInitProject(nextProject);
    const link = join(outside(), "link");
    symlinkSync(project.root, link);
    expect(project.decide().every(({ action }) => action !== "by hand")).toBe(true);
  });
});

describe("a failure", () => {
  it("for want of rights comes before the first file is written", () => {
    const project = makeInitProject(supabaseProject);
    const names = namesIn(project.root);
    const files = project.files();
    asOrdinaryUser(project, () => {
      chmodSync(join(project.root, "app"), 0o555);
      expect(() => project.init()).toThrow(
        /^app\/api\/leasehold\/\[\.\.\.route\]\/route\.ts can't be written: EACCES/,
      );
      chmodSync(join(project.root, "app"), 0o755);
      chmodSync(join(project.root, ".gitignore"), 0o444);
      expect(() => project.init()).toThrow(".gitignore can't be written: EACCES");
    });
    expect(project.files()).toEqual(files);
    expect(namesIn(project.root)).toEqual(names);
  });

  it("for a file that can't be read names it", () => {
    const project = makeInitProject(supabaseProject);
    asOrdinaryUser(project, () => {
      chmodSync(join(project.root, "supabase/config.toml"), 0o000);
      expect(() => project.init()).toThrow("supabase/config.toml can't be read: EACCES");
      chmodSync(join(project.root, "supabase/config.toml"), 0o644);
    });
  });

  it("for a folder in a file's place names it, and nothing is written", () => {
    const project = makeInitProject(nextProject);
    mkdirSync(join(project.root, "lib/jobs.ts"), { recursive: true });
    const files = project.files();
    expect(() => project.init()).toThrow("lib/jobs.ts can't be read: EISDIR");
    expect(project.files()).toEqual(files);
  });

  it("in the middle names what was written and what was not", () => {
    const project = makeInitProject(nextProject);
    const decisions = project.decide().filter(isWritten);
    const [jobs, client, ...rest] = decisions;
    // As if a folder took the place of the second one meanwhile.
    const place = join(project.root, "lib/taken");
    mkdirSync(join(place, "by"), { recursive: true });
    const blocked = { ...client, place } as never;
    expect(jobs?.path).toBe("lib/jobs.ts");
    const failure = attemptTo(() => write([jobs as never, blocked, ...rest]));
    expect(failure).toMatchObject({
      message: expect.stringMatching(/^lib\/leasehold\.ts can't be written:/),
    });
    expect(failure).toMatchObject({
      hint: "Written: lib/jobs.ts. Not written: lib/leasehold.ts, app/api/leasehold/[...route]/route.ts, .env.example, .gitignore. Set that right and run init again.",
    });
    expect(project.get("lib/jobs.ts")).toContain("defineJob");
    expect(project.get(".env.example")).toBeUndefined();
    expect(namesIn(project.root).join()).not.toContain("leasehold-init");
    expect(namesIn(join(project.root, "app"))).toEqual(["page.tsx"]);
  });
});

function attemptTo(act: () => void): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
