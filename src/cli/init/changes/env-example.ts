import type { Change } from "../change.ts";
import { doorOf } from "../database-door.ts";
import type { Project } from "../project.ts";

interface Variable {
  readonly name: string;
  readonly comment: string;
  readonly value: string;
}

/** The variables that the code reads, each with what it is. */
export function envExample(project: Project): Change {
  const variables = variablesOf(project);
  return {
    path: project.envExample,
    purpose: variables.map(({ name }) => name).join(", "),
    whole: false,
    make: (before = "") => ({ text: withVariables(before, variables) }),
  };
}

function variablesOf(project: Project): Variable[] {
  const { next, supabase } = project;
  const door = doorOf(project);
  const database: Variable[] =
    door === "supabase"
      ? [
          {
            name: "SUPABASE_URL",
            comment: "The project's URL; `supabase status` tells that of the local stack.",
            value: `http://127.0.0.1:${supabase?.apiPort ?? 54321}`,
          },
          {
            name: "SUPABASE_SERVICE_ROLE_KEY",
            comment:
              "The service_role key, or a secret key. It may do everything: for the server alone.",
            value: "",
          },
        ]
      : [databaseUrl(supabase?.databasePort)];
  if (next?.app === undefined) return database;
  const secret = "Opens /api/leasehold/drain. At least 16 characters: openssl rand -hex 32";
  return [...database, { name: "CRON_SECRET", comment: secret, value: "" }];
}

function databaseUrl(supabasePort: number | undefined): Variable {
  const supabase = supabasePort !== undefined;
  return {
    name: "DATABASE_URL",
    comment: supabase
      ? "PostgreSQL, here that of `supabase start`. A project's: Connect, Transaction pooler."
      : "PostgreSQL 15 or newer.",
    value: supabase
      ? `"postgresql://postgres:postgres@127.0.0.1:${supabasePort}/postgres"`
      : '"postgresql://postgres:postgres@127.0.0.1:5432/postgres"',
  };
}

/** Adds those that are missing; one that is commented out is there. */
function withVariables(text: string, variables: readonly Variable[]): string {
  const missing = variables.filter(
    ({ name }) => !new RegExp(`^[ \\t]*#?[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=`, "m").test(text),
  );
  const blocks = missing.map(({ name, comment, value }) => `# ${comment}\n${name}=${value}\n`);
  if (blocks.length === 0) return text;
  const end = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  return (end === "" ? "" : `${end}\n`) + blocks.join("\n");
}
