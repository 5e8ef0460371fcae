import { quoteIdentifier } from "../../database.ts";
import { quoteLiteral } from "../../schema/schema-name.ts";
import type { Choices } from "./choices.ts";
import { type Door, doorOf } from "./database-door.ts";
import type { PackageManager } from "./look/package-manager.ts";
import type { Project } from "./project.ts";

/** Something that is left to a person, with what to type for it. */
export interface Step {
  readonly say: string;
  readonly run: readonly string[];
}

/** What is left to do behind init, in its order, up to a first job that was drained. */
export function nextSteps(project: Project, choices: Choices): Step[] {
  const { next, migrations } = project;
  const rest = next?.app === undefined ? [] : [authorize(next.app), ...wakeUp(project, choices)];
  // `leasehold migrate` reads the environment; the others' tools have their own ways.
  const setUp =
    migrations === undefined
      ? [environment(project), ownMigrate(project, choices)]
      : [toolMigrate(project, migrations.tool), environment(project)];
  return [...install(project), ...setUp, ...firstJob(project, choices), ...rest];
}

/** How each package manager adds packages, and what stands in front of a program and of a script. */
const words: Readonly<
  Record<PackageManager, { add: string; dev: string; exec: string; run: string }>
> = {
  npm: { add: "npm install", dev: "npm install -D", exec: "npx", run: "npm run" },
  pnpm: { add: "pnpm add", dev: "pnpm add -D", exec: "pnpm exec", run: "pnpm" },
  yarn: { add: "yarn add", dev: "yarn add -D", exec: "yarn", run: "yarn" },
  bun: { add: "bun add", dev: "bun add -d", exec: "bunx", run: "bun run" },
};

const drivers: Readonly<Record<Door, string>> = {
  pg: "pg",
  postgres: "postgres",
  supabase: "@supabase/supabase-js",
};

function install(project: Project): Step[] {
  const { packages, packageManager, code, migrations } = project;
  const { add, dev } = words[packageManager];
  const door = doorOf(project);
  const missing = ["leasehold", drivers[door]].filter((name) => !packages.has(name));
  // The commands reach a database by pg, whatever the application does.
  const forCommands = door === "postgres" || (door === "supabase" && migrations === undefined);
  const missingInDev = [
    ...(forCommands && !packages.has("pg") ? ["pg"] : []),
    ...(code.typescript && door === "pg" && !packages.has("@types/pg") ? ["@types/pg"] : []),
  ];
  const run = [
    ...(missing.length > 0 ? [`${add} ${missing.join(" ")}`] : []),
    ...(missingInDev.length > 0 ? [`${dev} ${missingInDev.join(" ")}`] : []),
  ];
  return run.length > 0 ? [{ say: "Install what is missing.", run }] : [];
}

function toolMigrate(project: Project, tool: NonNullable<Project["migrations"]>["tool"]): Step {
  const { exec } = words[project.packageManager];
  if (tool === "supabase") return supabaseMigrate(project);
  const commands = {
    prisma: "prisma migrate deploy",
    drizzle: "drizzle-kit migrate",
    knex: "knex migrate:latest",
  };
  return { say: "Apply the migration.", run: [`${exec} ${commands[tool]}`] };
}

function supabaseMigrate(project: Project): Step {
  const { exec } = words[project.packageManager];
  const supabase = project.packages.has("supabase") ? `${exec} supabase` : "supabase";
  const overRpc = doorOf(project) === "supabase";
  return {
    say: `Apply the migrations, to the local stack${overRpc ? " (stop and start one that runs: it reads config.toml at its start)" : ""} or to your project.`,
    run: [
      `${supabase} migration up`,
      `${supabase} db push${overRpc ? ` && ${supabase} config push` : ""}`,
    ],
  };
}

function environment({ envExample, envFile, next }: Project): Step {
  const { path, there } = envFile;
  const secret = next?.app === undefined ? "" : " For CRON_SECRET: openssl rand -hex 32";
  if (there) return { say: `Add to ${path} what ${envExample} shows.${secret}`, run: [] };
  return { say: `Fill in ${path}.${secret}`, run: [`cp ${envExample} ${path}`] };
}

function ownMigrate(project: Project, { schema }: Choices): Step {
  const { exec } = words[project.packageManager];
  const command = `${exec} leasehold migrate${schemaOption(schema)}`;
  if (doorOf(project) !== "supabase") {
    const say = "Install leasehold's schema in your database.";
    return { say, run: [readEnv(project), command] };
  }
  return {
    say: "Install leasehold's schema over the direct connection, and let the Data API serve it (Project Settings, Data API, Exposed schemas).",
    run: [`DATABASE_URL="postgresql://..." ${command}`],
  };
}

function firstJob(project: Project, { schema }: Choices): Step[] {
  const { next, code, packageManager } = project;
  const { exec, run } = words[packageManager];
  const payload = `'{"name": "Ada"}'`;
  const inNext = next?.app !== undefined;
  const overRpc = doorOf(project) === "supabase";
  const inSql = schema === "leasehold" ? schema : quoteIdentifier(schema);
  const select = `select ${inSql}.enqueue('greet', ${payload});`;
  const enqueue = `${exec} leasehold enqueue greet ${payload}${schemaOption(schema)}`;
  const drain = inNext
    ? 'curl -H "Authorization: Bearer $CRON_SECRET" "http://localhost:3000/api/leasehold/drain?wait=1"'
    : `${exec} leasehold drain ${code.folder}/leasehold.${code.ending}`;
  return [
    ...(inNext ? [{ say: "Start the application.", run: [`${run} dev`] }] : []),
    ...(overRpc ? [{ say: "Enqueue a first job, in Supabase's SQL editor.", run: [select] }] : []),
    {
      say: `${overRpc ? "Drain it" : "Enqueue a first job and drain it"}${inNext ? ", in another terminal" : ""}.`,
      run: [readEnv(project), ...(overRpc ? [] : [enqueue]), drain],
    },
  ];
}

function authorize(app: string): Step {
  const say = `Before users start jobs: answer who they are in authorize, in ${app}/api/leasehold/[...route].`;
  return { say, run: [] };
}

/** What calls the drain once the application is deployed. */
function wakeUp({ migrations, vercel }: Project, { schema, vercelCron }: Choices): Step[] {
  if (migrations?.tool === "supabase") {
    const secret = (value: string, name: string): string =>
      `select vault.create_secret('${value}', ${quoteLiteral(`${schema}_${name}`)});`;
    return [
      {
        say: "Deploy it with the same variables; then tell the database what to call, in Supabase's SQL editor.",
        run: [
          secret("https://YOUR-APP/api/leasehold/drain", "drain_url"),
          secret("YOUR CRON_SECRET", "drain_secret"),
        ],
      },
    ];
  }
  const deploy = "Deploy it with the same variables";
  if (vercelCron !== undefined || vercel.callsDrain) return [{ say: `${deploy}.`, run: [] }];
  const say = `${deploy}, and let a cron call the drain: --vercel-cron adds one of Vercel's.`;
  return [{ say, run: [] }];
}

/** The programs read no .env file by themselves. */
function readEnv({ envFile }: Project): string {
  return `set -a; . ./${envFile.path}; set +a`;
}

function schemaOption(schema: string): string {
  if (schema === "leasehold") return "";
  const plain = /^[\w-]+$/.test(schema);
  return ` --schema ${plain ? schema : `'${schema.replaceAll("'", "'\\''")}'`}`;
}
