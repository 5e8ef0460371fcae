import { describe, expect, it } from "vitest";
import { exposeSchema } from "../../src/cli/init/changes/supabase-config.ts";
import { withCron } from "../../src/cli/init/changes/vercel-json.ts";
import {
  actions,
  makeInitProject,
  manifest,
  nextProject,
  supabaseConfigText,
} from "./init-project.ts";

/** What the edit makes of a text, or why it is left to a person. */
const exposed = (text: string, schema = "leasehold"): string => {
  const made = exposeSchema(text, schema);
  return "text" in made ? made.text : `by hand: ${made.because}`;
};

describe("the schemas that Supabase serves", () => {
  it("get one more, and every other byte of config.toml stays", () => {
    const expected = supabaseConfigText.replace(
      '"graphql_public"]',
      '"graphql_public", "leasehold"]',
    );
    expect(exposed(supabaseConfigText)).toBe(expected);
    expect(exposed(expected)).toBe(expected);
  });

  it.each<[string, string, string]>([
    ["an empty list", "[api]\nschemas = []\n", '[api]\nschemas = ["leasehold"]\n'],
    [
      "a comment behind it",
      "[api]\nschemas = ['public'] # \"leasehold\"]\n",
      '[api]\nschemas = [\'public\', "leasehold"] # "leasehold"]\n',
    ],
    ["a comma at the end", '[api]\nschemas = ["a",]\n', '[api]\nschemas = ["a", "leasehold",]\n'],
    [
      "several lines",
      '[api]\nschemas = [\n  "public",\n  "storage"\n]\nx = 1\n',
      '[api]\nschemas = [\n  "public",\n  "storage",\n  "leasehold"\n]\nx = 1\n',
    ],
    [
      "several lines, a comma at the end and comments with brackets",
      '[api]\nschemas = [ # ]\n\t"public", # the "app"]\n\t"storage", # files\n]\n',
      '[api]\nschemas = [ # ]\n\t"public", # the "app"]\n\t"storage", # files\n\t"leasehold",\n]\n',
    ],
    [
      "a comment behind the last, which has no comma",
      '[api]\nschemas = [\n  "public" # the app\n]\n',
      '[api]\nschemas = [\n  "public", # the app\n  "leasehold"\n]\n',
    ],
    [
      "a comma on a line of its own",
      '[api]\nschemas = [\n  "public" # the app\n  , # and\n]\n',
      '[api]\nschemas = [\n  "public" # the app\n  , # and\n  "leasehold",\n]\n',
    ],
    [
      "its end on the line of the last",
      '[api]\nschemas = [\n  "public",\n  "storage"]\n',
      '[api]\nschemas = [\n  "public",\n  "storage", "leasehold"]\n',
    ],
    ["a dotted key", 'api.schemas = ["public"]\n', 'api.schemas = ["public", "leasehold"]\n'],
    ["quoted names", '["api"]\n"schemas" = ["a"]\n', '["api"]\n"schemas" = ["a", "leasehold"]\n'],
  ])("in a list with %s", (_, before, after) => {
    expect(exposed(before)).toBe(after);
    expect(exposed(after)).toBe(after);
  });

  const line = 'schemas = ["public", "graphql_public", "leasehold"]\n';

  it.each<[string, string, string]>([
    [
      "the key is missing",
      "[api]\nenabled = true # yes\n\n[db]\nport = 1\n",
      `[api]\nenabled = true # yes\n${line}\n[db]\nport = 1\n`,
    ],
    [
      "it is commented out",
      '[api]\n# schemas = ["public"]\nmax_rows = 1\n[api.tls]\n',
      `[api]\n# schemas = ["public"]\n${line}max_rows = 1\n[api.tls]\n`,
    ],
    [
      "another table has such a key",
      '[db]\nschemas = ["x"]\n\n[api]\nport = 1',
      `[db]\nschemas = ["x"]\n\n[api]\nport = 1\n${line}`,
    ],
    ["the table is empty", "[api]\n[db]\n", `[api]\n${line}[db]\n`],
    ["the table is missing", "[db]\nport = 1\n", `[db]\nport = 1\n\n[api]\n${line}`],
    ["the file is empty", "", `[api]\n${line}`],
    [
      "the table's name stands in a text",
      'note = """\n[api]\nschemas = []\n"""\n',
      `note = """\n[api]\nschemas = []\n"""\n\n[api]\n${line}`,
    ],
  ])("get a line of their own where %s", (_, before, after) => {
    expect(exposed(before)).toBe(after);
    expect(exposed(after)).toBe(after);
  });

  it("are named by the schema that was chosen, in quotes of TOML", () => {
    expect(exposed('[api]\nschemas = ["a"]\n', 'my "jobs"')).toBe(
      '[api]\nschemas = ["a", "my \\"jobs\\""]\n',
    );
  });

  it("are left to a person where they are written in another way", () => {
    expect(exposed("[api]\nschemas = [1]\n")).toContain("by hand: has schemas that are no list");
    expect(exposed('[api]\nschemas = "env(SCHEMAS)"\n')).toContain("by hand");
    expect(exposed("api = { enabled = true }\n")).toContain("by hand: writes [api] in another way");
    expect(exposed("api.port = 1\n")).toContain("by hand");
  });

  it.each<[string, string]>([
    ['[api]\nschemas = ["public"\n\n[db]\nport = 1\n', "line 2 has a list without an end"],
    ['[api]\nschemas = ["public]\n', "line 2 has text without an end"],
    ["[api]\nport = 1\nnonsense\n", "line 3 has neither a table nor a value"],
    ["[api]\nport =\n", "line 2 has no value"],
    ['[api]\nschemas = ["a"] "b"\n', "line 2 has more than one value"],
  ])("stay where config.toml is broken, which is told by its line: %j", (text, problem) => {
    expect(() => exposed(text)).toThrow(problem);
  });
});

const cron = (text: string, schedule = "0 0 * * *"): string => {
  const made = withCron(text, schedule);
  return "text" in made ? made.text : made.because;
};

describe("vercel.json", () => {
  const entry = '{\n      "path": "/api/leasehold/drain",\n      "schedule": "0 0 * * *"\n    }';

  it.each<[string, string, string]>([
    ["is made of an empty object", "{}\n", `{\n  "crons": [\n    ${entry}\n  ]\n}\n`],
    [
      "keeps what it has, as it is written",
      '{\n  "regions": ["fra1",  "iad1"],\n  "functions": {"a": {"maxDuration": 5}}\n}',
      `{\n  "regions": ["fra1",  "iad1"],\n  "functions": {"a": {"maxDuration": 5}},\n  "crons": [\n    ${entry}\n  ]\n}`,
    ],
    [
      "keeps the crons that it has",
      '{\n  "crons": [\n    { "path": "/a", "schedule": "1 1 * * *" }\n  ],\n  "x": "}"\n}\n',
      `{\n  "crons": [\n    { "path": "/a", "schedule": "1 1 * * *" },\n    ${entry}\n  ],\n  "x": "}"\n}\n`,
    ],
    ["gets a first cron", '{\n  "crons": []\n}\n', `{\n  "crons": [\n    ${entry}\n  ]\n}\n`],
  ])("%s", (_, before, after) => {
    expect(cron(before)).toBe(after);
    expect(JSON.parse(after).crons.at(-1)).toEqual({
      path: "/api/leasehold/drain",
      schedule: "0 0 * * *",
    });
    expect(cron(after)).toBe(after);
  });

  it("is indented as before, by four blanks or a tab", () => {
    const four = cron('{\n    "x": 1\n}\n');
    expect(four).toBe(`${JSON.stringify({ x: 1, crons: [cronEntry] }, null, 4)}\n`);
    expect(cron('{\n\t"x": 1\n}\n')).toBe(
      `${JSON.stringify({ x: 1, crons: [cronEntry] }, null, "\t")}\n`,
    );
  });

  it("keeps an entry for the drain, whatever its schedule", () => {
    const text = '{"crons":[{"path":"/api/leasehold/drain","schedule":"*/5 * * * *"}]}';
    expect(cron(text)).toBe(text);
  });

  it.each(["", "{ nonsense", "[]", '"text"', '{ "crons": {} }', '{ "a": 1, }'])(
    "is refused where it is broken, and nothing is written: %j",
    (text) => {
      const project = makeInitProject({ ...nextProject, "vercel.json": text });
      const before = project.files();
      expect(() => project.init({ vercelCron: "0 0 * * *" })).toThrow(
        "vercel.json can't be edited",
      );
      expect(project.files()).toEqual(before);
      expect(() => project.init()).not.toThrow();
    },
  );

  it("that is a program is left to a person", () => {
    const project = makeInitProject({ ...nextProject, "vercel.ts": "export const config = {};\n" });
    const decision = project.decide({ vercelCron: "*/5 * * * *" }).at(-1);
    expect(decision).toMatchObject({ path: "vercel.ts", action: "by hand" });
    expect(decision?.byHand?.snippet).toBe(
      'crons: [{"path":"/api/leasehold/drain","schedule":"*/5 * * * *"}]',
    );
  });

  it("is not made where nobody has asked for it", () => {
    expect(actions(makeInitProject(nextProject).decide())).not.toHaveProperty("vercel.json");
  });
});

const cronEntry = { path: "/api/leasehold/drain", schedule: "0 0 * * *" };

/** A project whose builds go through webpack, with PGlite. */
const webpack: Readonly<Record<string, string>> = {
  ...nextProject,
  "package.json": manifest({ next: "15.3.0", "@electric-sql/pglite": "0.5" }),
};

describe("next.config", () => {
  const line = '  serverExternalPackages: ["@electric-sql/pglite"],\n';
  const edit = (text: string, file = "next.config.ts") => {
    const project = makeInitProject({ ...webpack, [file]: text });
    project.init();
    return project.get(file);
  };

  it("is left alone where nothing needs it: Turbopack, or no PGlite", () => {
    const turbopack = manifest({ next: "16.4.3", "@electric-sql/pglite": "0.5" });
    for (const text of [turbopack, manifest({ next: "15.3.0" })]) {
      const project = makeInitProject({ ...nextProject, "package.json": text });
      expect(Object.keys(actions(project.decide())).join()).not.toContain("next.config");
    }
  });

  it("is made where there is none, in the project's language", () => {
    const typescript = makeInitProject(webpack);
    typescript.init();
    expect(typescript.get("next.config.ts")).toBe(
      `import type { NextConfig } from "next";\n\nconst nextConfig: NextConfig = {\n${line}};\n\nexport default nextConfig;\n`,
    );
    const { "tsconfig.json": _, ...javascript } = webpack;
    const project = makeInitProject(javascript);
    project.init();
    expect(project.get("next.config.mjs")).toContain(`const nextConfig = {\n${line}};`);
  });

  it.each<[string, string]>([
    [
      "const nextConfig: NextConfig = {\n  /* config options here */\n  cacheComponents: true,\n};\n\nexport default nextConfig;\n",
      `const nextConfig: NextConfig = {\n${line}  /* config options here */\n  cacheComponents: true,\n};\n\nexport default nextConfig;\n`,
    ],
    [
      "const headers = {\n  a: 1,\n};\nlet config = {\n  headers,\n};\nexport default config;\n",
      `const headers = {\n  a: 1,\n};\nlet config = {\n${line}  headers,\n};\nexport default config;\n`,
    ],
    [
      "const config = {};\nexport default withMDX(config);\n",
      `const config = {\n${line}};\nexport default withMDX(config);\n`,
    ],
    [
      "const nextConfig = {\n    reactStrictMode: true,\n}\n\nmodule.exports = nextConfig\n",
      `const nextConfig = {\n  ${line}    reactStrictMode: true,\n}\n\nmodule.exports = nextConfig\n`,
    ],
  ])("of create-next-app's shape gets the line: %j", (before, after) => {
    expect(edit(before)).toBe(after);
    const again = makeInitProject({ ...webpack, "next.config.ts": after });
    expect(actions(again.decide())["next.config.ts"]).toBe("none");
  });

  it.each([
    "export default { reactStrictMode: true };\n",
    "const nextConfig = { reactStrictMode: true };\nexport default nextConfig;\n",
    "const other = {\n  a: 1,\n};\nexport default () => ({});\n",
    "const a = {\n  b: 1,\n};\nconst c = {\n  d: 1,\n};\nexport default merge(a, c);\n",
    'const nextConfig = {\n  serverExternalPackages: ["sharp"],\n};\nexport default nextConfig;\n',
  ])("of any other shape is left to a person, with the line to add: %j", (text) => {
    const project = makeInitProject({ ...webpack, "next.config.mjs": text });
    const decision = project.decide().find(({ path }) => path === "next.config.mjs");
    expect(decision?.action).toBe("by hand");
    expect(decision?.byHand?.snippet).toBe(line.trim());
    project.init();
    expect(project.get("next.config.mjs")).toBe(text);
  });
});

describe("the example of variables", () => {
  const example = (files: Record<string, string> = {}, path = ".env.example") => {
    const project = makeInitProject({ ...nextProject, ...files });
    project.init();
    return project.get(path);
  };

  it("is made with what the code reads, and says how to make the secret", () => {
    expect(example()).toBe(`# PostgreSQL 15 or newer.
DATABASE_URL="postgresql://postgres:postgres@127.0.0.1:5432/postgres"

# Opens /api/leasehold/drain. At least 16 characters: openssl rand -hex 32
CRON_SECRET=
`);
  });

  it("names the local stack of Supabase by its own port", () => {
    const config = supabaseConfigText.replace("54322", "55555 # ours");
    expect(example({ "supabase/config.toml": config })).toContain("@127.0.0.1:55555/postgres");
  });

  it("names Supabase's URL and key where supabase-js is the way", () => {
    const text = manifest({ next: "16", "@supabase/supabase-js": "2.109.0" });
    const written = example({ "package.json": text });
    expect(written).toMatch(/^SUPABASE_URL=http:\/\/127\.0\.0\.1:54321$/m);
    expect(written).toMatch(/^SUPABASE_SERVICE_ROLE_KEY=$/m);
    expect(written).not.toContain("DATABASE_URL");
  });

  it("is added to, and has nothing twice", () => {
    const before = "# mine\nexport DATABASE_URL = x\nFOO=1";
    const after = example({ ".env.example": before });
    expect(after).toMatch(/^# mine\nexport DATABASE_URL = x\nFOO=1\n\n# Opens .*\nCRON_SECRET=\n$/);
    expect(example({ ".env.example": "# DATABASE_URL=\nCRON_SECRET=x\n" })).toBe(
      "# DATABASE_URL=\nCRON_SECRET=x\n",
    );
    expect(example({ ".env.example": "MY_DATABASE_URL=x\n" })).toContain("\nDATABASE_URL=");
  });

  it("is the one that the project has", () => {
    expect(example({ ".env.sample": "A=1\n" }, ".env.sample")).toContain("CRON_SECRET=");
  });

  it("has no secret where there is no route", () => {
    expect(example({ "package.json": manifest() })).not.toContain("CRON_SECRET");
  });
});

describe(".gitignore", () => {
  const ignored = (text: string) => {
    const project = makeInitProject({ ...nextProject, ".gitignore": text });
    project.init();
    return project.get(".gitignore");
  };

  it("ignores the embedded database, and not the example of variables", () => {
    expect(ignored("/node_modules\n.env*")).toBe(
      "/node_modules\n.env*\n\n# leasehold\n.leasehold/\n!.env.example\n",
    );
    expect(ignored(".env*.local\n")).toBe(".env*.local\n\n# leasehold\n.leasehold/\n");
  });

  it.each([
    ".leasehold\n",
    "/.leasehold/\n",
    "**/.leasehold/**\n",
    ".env*\n!.env.example\n.leasehold/\n",
  ])("stays where it says so already: %j", (text) => {
    expect(ignored(text)).toBe(text);
  });

  it("is not made where there is none", () => {
    const { ".gitignore": _, ...without } = nextProject;
    expect(actions(makeInitProject(without).decide())).not.toHaveProperty(".gitignore");
  });
});
