import { type Change, wholeFile } from "../change.ts";
import { importPath } from "../imports.ts";
import type { Project } from "../project.ts";

/** Next reads it from the file's text, so it must stand there as a number. Seconds. */
const maxDurationSeconds = 300;

/** The catch-all route. `app` is the App Router's folder. */
export function routeFile({ code }: Project, app: string): Change {
  const module = `${app}/api/leasehold/[...route]/route`;
  const imports = ["jobs", "leasehold"].map((name) => {
    const from = importPath(code, module, `${code.folder}/${name}`);
    return `import { ${name === "jobs" ? "greet" : name} } from "${from}";`;
  });
  const text = `import { route } from "leasehold/next";
${imports.join("\n")}

// Seconds. A drain ends within its budget, which is less.
export const maxDuration = ${maxDurationSeconds};

export const { GET, HEAD, POST } = route({
  leasehold,
  jobs: [greet],
  // Who may start and follow jobs. null is nobody; answer { owner: user.id } from your session.
  authorize: () => null,
  // GET /api/leasehold/drain works through due jobs, for whoever brings CRON_SECRET.
  drain: { budget: "240s", reserve: "30s" },
});
`;
  const path = `${module}.${code.ending}`;
  return wholeFile(path, "start, follow, drain over HTTP", text);
}
