import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** A server on which databases can be made: TEST_DATABASE_URL, or one started for this run. */
    adminUrl: string;
  }
}

/** Embeds the SQL, and brings up one server and the template database for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const script = fileURLToPath(new URL("../../scripts/embed-sql.mjs", import.meta.url));
  execFileSync(process.execPath, [script], { stdio: ["ignore", "ignore", "inherit"] });
  const given = process.env.TEST_DATABASE_URL;
  const server = given ? undefined : await startPostgres();
  const adminUrl = given ?? server?.url ?? "";
  // Only now, for it reads the module that was just written.
  const { dropTemplate, prepareTemplate } = await import("./template.ts");
  await prepareTemplate(adminUrl);
  project.provide("adminUrl", adminUrl);
  return async () => {
    if (server) await server.stop();
    else await dropTemplate(adminUrl);
  };
}
