import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { importPath } from "../../src/cli/init/imports.ts";
import { nextSteps } from "../../src/cli/init/steps.ts";
import {
  actions,
  makeInitProject,
  manifest,
  nextProject,
  supabaseProject,
} from "./init-project.ts";

const withPackages = (...names: string[]) => ({
  ...nextProject,
  "package.json": manifest({
    next: "16.4.3",
    ...Object.fromEntries(
      names.map((name) => [name.replace(/@[\d.]+$/, ""), /@([\d.]+)$/.exec(name)?.[1] ?? "4"]),
    ),
  }),
});

/** The files of init, written into a project. */
function generated(files: Record<string, string>) {
  const project = makeInitProject(files);
  project.init();
  return project;
}

describe("the generated code", () => {
  it("is this, in a Next project with pg and zod", () => {
    const project = generated(withPackages("pg", "zod"));
    expect(project.get("lib/jobs.ts")).toBe(`import { defineJob } from "leasehold";
import { z } from "zod";

// Definitions alone, so that any module may import them. What each does stands in ./leasehold.
export const greet = defineJob("greet", {
  payload: z.object({ name: z.string() }),
});
`);
    expect(project.get("lib/leasehold.ts")).toBe(`import { handle } from "leasehold";
import { createLeasehold } from "leasehold/next";
import { pg } from "leasehold/pg";
import { Pool } from "pg";
import { greet } from "./jobs";

const pool = new Pool({ connectionString: process.env.DATABASE_URL });

export const leasehold = createLeasehold({
  database: pg(pool),
  handlers: [
    handle(greet, async (job) => {
      // What is returned becomes the job's result; what is thrown makes it try again.
      return { greeting: \`Hello, \${job.payload.name}!\` };
    }),
  ],
});
`);
    expect(project.get("app/api/leasehold/[...route]/route.ts")).toBe(
      `import { route } from "leasehold/next";
import { greet } from "@/lib/jobs";
import { leasehold } from "@/lib/leasehold";

// Seconds. A drain ends within its budget, which is less.
export const maxDuration = 300;

export const { GET, HEAD, POST } = route({
  leasehold,
  jobs: [greet],
  // Who may start and follow jobs. null is nobody; answer { owner: user.id } from your session.
  authorize: () => null,
  // GET /api/leasehold/drain works through due jobs, for whoever brings CRON_SECRET.
  drain: { budget: "240s", reserve: "30s" },
});
`,
    );
  });

  it.each([
    ["zod", "payload: z.object({ name: z.string() })"],
    ["zod@3.24.1", "payload: z.object({ name: z.string() })"],
    ["valibot@1.1.0", "payload: v.object({ name: v.string() })"],
    ["arktype@2.1.0", 'payload: type({ name: "string" })'],
  ])("checks the payload by %s, where that is installed", (name, payload) => {
    const project = generated(withPackages(name));
    expect(project.get("lib/jobs.ts")).toContain(payload);
    expect(project.get("lib/leasehold.ts")).toContain("job.payload.name");
  });

  it.each(["zod@3.23.8", "valibot@0.42.0", "arktype@1.0.0", "yup"])(
    "checks no payload by %s, which knows no Standard Schema",
    (name) => {
      const project = generated(withPackages(name));
      expect(project.get("lib/jobs.ts")).toContain('defineJob("greet");');
      expect(project.get("lib/leasehold.ts")).toContain("return { greeted: job.payload };");
    },
  );

  it("speaks postgres.js where that is installed", () => {
    const text = generated(withPackages("postgres")).get("lib/leasehold.ts");
    expect(text).toContain('import postgresJs from "postgres";');
    expect(text).toContain("database: postgres(sql),");
  });

  it("speaks supabase-js where that is all there is", () => {
    const text = generated(withPackages("@supabase/supabase-js")).get("lib/leasehold.ts");
    expect(text).toContain("createClient(SUPABASE_URL, SUPABASE_SERVICE_ROLE_KEY, {");
    expect(text).toContain("database: supabase(client),");
  });

  it("lies under src, and is JavaScript, where the project is", () => {
    const project = generated({
      "package.json": manifest({ next: "16.4.3" }),
      "jsconfig.json": '{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }',
      "src/app/page.js": "",
    });
    expect(project.get("src/lib/leasehold.js")).toContain('from "./jobs";');
    expect(project.get("src/app/api/leasehold/[...route]/route.js")).toContain(
      'from "@/lib/jobs";',
    );
  });

  it("imports by a relative path where there is no alias", () => {
    const project = generated({ ...nextProject, "tsconfig.json": "{}" });
    const route = project.get("app/api/leasehold/[...route]/route.ts");
    expect(route).toContain('from "../../../../lib/leasehold";');
  });

  it("is a client of the core, without a route, where there is no Next", () => {
    const project = makeInitProject({ "package.json": manifest({ pg: "8" }, { type: "module" }) });
    expect(actions(project.decide())).toEqual({
      "lib/jobs.js": "create",
      "lib/leasehold.js": "create",
      ".env.example": "create",
    });
    project.init();
    expect(project.get("lib/leasehold.js")).toContain(
      'import { createLeasehold, handle } from "leasehold";\nimport { pg } from "leasehold/pg";',
    );
    expect(project.get("lib/leasehold.js")).toContain('from "./jobs.js";');
  });

  it("has no route with pages alone, and a schedule has nothing to call there", () => {
    const { "app/page.tsx": _, ...rest } = nextProject;
    const project = makeInitProject({ ...rest, "pages/index.tsx": "" });
    expect(Object.keys(actions(project.decide())).join()).not.toContain("route");
    expect(() => project.decide({ vercelCron: "0 0 * * *" })).toThrow("has nothing to call");
  });
});

it("the generated code compiles under the strictest settings, in every variant", () => {
  mkdirSync("node_modules/.cache", { recursive: true });
  const folder = mkdtempSync(resolve("node_modules/.cache/init-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const variants = [
    ["pg", "zod"],
    ["postgres", "valibot@1.1.0"],
    ["@supabase/supabase-js"],
    ["pg"],
  ];
  variants.forEach((names, i) => {
    const project = generated({ ...withPackages(...names), "tsconfig.json": "{}" });
    for (const path of [
      "lib/jobs.ts",
      "lib/leasehold.ts",
      "app/api/leasehold/[...route]/route.ts",
    ]) {
      mkdirSync(join(folder, String(i), dirname(path)), { recursive: true });
      writeFileSync(join(folder, String(i), path), project.get(path) ?? "");
    }
  });
  const compilerOptions = {
    module: "esnext",
    moduleResolution: "bundler",
    noUnusedLocals: true,
    noPropertyAccessFromIndexSignature: false,
    typeRoots: [resolve("node_modules/@types")],
    paths: { leasehold: [resolve("src/index.ts")], "leasehold/*": [resolve("src/*/index.ts")] },
  };
  const config = { extends: resolve("tsconfig.json"), compilerOptions, include: [folder] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { stdout, status } = spawnSync("npx", ["tsc", "--noEmit", "-p", folder], {
    encoding: "utf8",
  });
  expect({ stdout, status }).toEqual({ stdout: "", status: 0 });
});

it("an import takes the first alias that leads there", () => {
  const code = {
    ...makeInitProject(nextProject).look().code,
    aliases: [
      { prefix: "~db/", folder: "db/" },
      { prefix: "@/", folder: "src/" },
    ],
  };
  expect(importPath(code, "src/app/a/route", "src/lib/jobs")).toBe("@/lib/jobs");
  expect(importPath(code, "src/lib/leasehold", "src/lib/jobs")).toBe("./jobs");
  expect(importPath(code, "app/a/route", "lib/jobs")).toBe("../../lib/jobs");
});

describe("the next steps", () => {
  const commands = (files: Record<string, string>, choices = {}) => {
    const usual = { schema: "leasehold", vercelCron: undefined, now: new Date(0) };
    const steps = nextSteps(makeInitProject(files).look(), { ...usual, ...choices });
    return steps.flatMap(({ say, run }) => [`# ${say}`, ...run]);
  };

  it("lead from nothing to a drained job with Supabase", () => {
    expect(commands({ ...supabaseProject, "pnpm-lock.yaml": "" })).toEqual([
      "# Install what is missing.",
      "pnpm add leasehold pg",
      "pnpm add -D @types/pg",
      "# Apply the migrations, to the local stack or to your project.",
      "supabase migration up",
      "supabase db push",
      "# Fill in .env.local. For CRON_SECRET: openssl rand -hex 32",
      "cp .env.example .env.local",
      "# Start the application.",
      "pnpm dev",
      "# Enqueue a first job and drain it, in another terminal.",
      "set -a; . ./.env.local; set +a",
      `pnpm exec leasehold enqueue greet '{"name": "Ada"}'`,
      'curl -H "Authorization: Bearer $CRON_SECRET" "http://localhost:3000/api/leasehold/drain?wait=1"',
      "# Before users start jobs: answer who they are in authorize, in app/api/leasehold/[...route].",
      "# Deploy it with the same variables; then tell the database what to call, in Supabase's SQL editor.",
      "select vault.create_secret('https://YOUR-APP/api/leasehold/drain', 'leasehold_drain_url');",
      "select vault.create_secret('YOUR CRON_SECRET', 'leasehold_drain_secret');",
    ]);
  });

  it.each<[string, string, string]>([
    ["package-lock.json", "npm install leasehold pg", "npm run dev"],
    ["yarn.lock", "yarn add leasehold pg", "yarn dev"],
    ["bun.lock", "bun add leasehold pg", "bun run dev"],
  ])("speak of the package manager of %s", (lock, add, dev) => {
    const said = commands({ ...nextProject, [lock]: "" });
    expect(said).toContain(add);
    expect(said).toContain(dev);
  });

  it("leave out what is installed", () => {
    const all = withPackages("leasehold@0.1.0", "pg", "@types/pg");
    expect(commands(all)[0]).toContain("# Fill in .env.local");
  });

  it.each<[Record<string, string>, string]>([
    [{ "prisma/schema.prisma": "" }, "npx prisma migrate deploy"],
    [{ "drizzle.config.ts": "" }, "npx drizzle-kit migrate"],
    [{ "knexfile.js": "" }, "npx knex migrate:latest"],
    [{}, "npx leasehold migrate"],
  ])("apply the migration as the project does: %j", (files, command) => {
    expect(commands({ ...nextProject, ...files })).toContain(command);
  });

  it("install pg for the commands, where the application speaks another driver", () => {
    expect(commands(withPackages("postgres", "leasehold"))).toContain("npm install -D pg");
    expect(commands(withPackages("@supabase/supabase-js", "leasehold"))).toContain(
      "npm install -D pg",
    );
  });

  it("need no direct connection with supabase-js and Supabase's migrations", () => {
    const { "package.json": text = "" } = withPackages(
      "@supabase/supabase-js",
      "leasehold",
      "supabase",
    );
    const said = commands({ ...supabaseProject, "package.json": text });
    expect(said).toContain("npx supabase db push && npx supabase config push");
    expect(said).toContain(`select leasehold.enqueue('greet', '{"name": "Ada"}');`);
    expect(said.join()).not.toContain("npm install");
    expect(said.join()).not.toContain("leasehold enqueue");
  });

  it("do not tell to overwrite a file of variables", () => {
    const said = commands({ ...nextProject, ".env.local": "A=1\n" });
    expect(said.join("\n")).not.toContain("cp ");
    expect(said.join("\n")).toContain("Add to .env.local what .env.example shows.");
  });

  it("name the schema", () => {
    const said = commands(supabaseProject, { schema: "my jobs" });
    expect(said).toContain(`npx leasehold enqueue greet '{"name": "Ada"}' --schema 'my jobs'`);
    expect(said).toContain(
      "select vault.create_secret('YOUR CRON_SECRET', 'my jobs_drain_secret');",
    );
  });

  it("ask for a cron where nothing else calls the drain", () => {
    const asks = (said: string[]) =>
      said.some((line) => line.includes("let a cron call the drain"));
    expect(asks(commands(nextProject))).toBe(true);
    expect(asks(commands(nextProject, { vercelCron: "0 0 * * *" }))).toBe(false);
    const vercel = '{ "crons": [{ "path": "/api/leasehold/drain", "schedule": "0 0 * * *" }] }';
    expect(asks(commands({ ...nextProject, "vercel.json": vercel }))).toBe(false);
    expect(asks(commands({ "package.json": manifest() }))).toBe(false);
  });
});
