import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { installApp, type NextApp } from "./support/next-app.ts";
import { type NextServer, serve } from "./support/next-server.ts";
import { until } from "./support/until.ts";

let app: NextApp;
let server: NextServer;

beforeAll(async () => {
  app = await installApp("test/browser/apps/door", { without: ["pg", "@electric-sql/pglite"] });
});
afterEach(() => server?.kill());
afterAll(() => app?.remove());

test.each(["turbopack", "webpack"] as const)(
  "%s builds without the optional packages, and their absence is told when asked for",
  async (bundler) => {
    await app.build({ bundler, env: { WITHOUT_TYPES: "1" } });
    const env = { DATABASE_URL: "postgres://127.0.0.1:1/none" };
    server = await serve(app.folder, { env });
    const headers = { "x-user": "ann", "content-type": "application/json" };
    const url = `${server.url}/api/leasehold/jobs/quick`;
    const answer = await fetch(url, { method: "POST", headers, body: "null" });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    const told = () => server.output().includes("The optional package pg is not installed");
    await until(told, `the absence in the log:\n${server.output()}`);
  },
);
