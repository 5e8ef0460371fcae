import { type Change, wholeFile } from "../change.ts";
import { type Door, doorOf } from "../database-door.ts";
import { importPath } from "../imports.ts";
import type { Project } from "../project.ts";
import { payloadSchema } from "./sample-job.ts";

/** The client, with the database and the handlers. */
export function clientFile(project: Project, schema: string): Change {
  const { code, next, packages } = project;
  const module = `${code.folder}/leasehold`;
  const door = doors[doorOf(project)](schema === "leasehold" ? undefined : schema);
  const inNext = next?.app !== undefined;
  const jobs = importPath(code, module, `${code.folder}/jobs`);
  const imports = [
    `import { ${inNext ? "handle" : "createLeasehold, handle"} } from "leasehold";`,
    ...(inNext ? ['import { createLeasehold } from "leasehold/next";'] : []),
    ...door.imports,
    `import { greet } from "${jobs}";`,
  ];
  const greeting =
    payloadSchema(packages) === undefined
      ? "return { greeted: job.payload };"
      : `return { greeting: \`Hello, \${job.payload.name}!\` };`;
  const text = `${imports.sort(byModule).join("\n")}

${door.client}export const leasehold = createLeasehold({
  database: ${door.expression},
  handlers: [
    handle(greet, async (job) => {
      // What is returned becomes the job's result; what is thrown makes it try again.
      ${greeting}
    }),
  ],
});
`;
  const path = `${module}.${code.ending}`;
  return wholeFile(path, "the client and the handlers", text);
}

interface DoorText {
  readonly imports: readonly string[];
  /** What stands before the client, with a blank line behind it; "" for nothing. */
  readonly client: string;
  readonly expression: string;
}

/** With the name of a schema that is not the usual one. */
const doors: Record<Door, (schema: string | undefined) => DoorText> = {
  pg: (schema) => ({
    imports: ['import { pg } from "leasehold/pg";', 'import { Pool } from "pg";'],
    client: "const pool = new Pool({ connectionString: process.env.DATABASE_URL });\n\n",
    expression: `pg(pool${option(schema)})`,
  }),
  postgres: (schema) => ({
    imports: [
      'import { postgres } from "leasehold/postgres";',
      'import postgresJs from "postgres";',
    ],
    client: 'const sql = postgresJs(process.env.DATABASE_URL ?? "");\n\n',
    expression: `postgres(sql${option(schema)})`,
  }),
  supabase: (schema) => ({
    imports: [
      'import { createClient } from "@supabase/supabase-js";',
      'import { supabase } from "leasehold/supabase";',
    ],
    client: `// This key may do everything: it stays on the server. The defaults let a build go on without.
const {
  SUPABASE_URL = "http://127.0.0.1:54321",
  SUPABASE_SERVICE_ROLE_KEY = "missing",
} = process.env;
const client = createClient(SUPABASE_URL, SUPABASE_SERVICE_ROLE_KEY, {
  auth: { persistSession: false, autoRefreshToken: false },
});

`,
    expression: `supabase(client${option(schema)})`,
  }),
};

function option(schema: string | undefined): string {
  return schema === undefined ? "" : `, { schema: ${JSON.stringify(schema)} }`;
}

/** Packages before own modules, each by name, as formatters sort them. */
function byModule(one: string, other: string): number {
  const [a = "", b = ""] = [one, other].map((line) => / from "(.*)";$/.exec(line)?.[1]);
  const own = Number(a.startsWith(".")) - Number(b.startsWith("."));
  return own !== 0 ? own : a < b ? -1 : 1;
}
