import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AppDatabase, startDatabase } from "./support/database.ts";
import { ask, backends, hook, rowIn, start } from "./support/door.ts";
import { installApp, type NextApp } from "./support/next-app.ts";
import { type NextServer, serve } from "./support/next-server.ts";
import { until } from "./support/until.ts";

let app: NextApp;
let database: AppDatabase;
let server: NextServer;

beforeAll(async () => {
  app = await installApp("test/browser/apps/door");
  database = await startDatabase(app.folder);
  const env = { DATABASE_URL: database.url, WORKER: "1" };
  server = await serve(app.folder, { mode: "dev", env, ready: "/api/leasehold/health" });
});
afterAll(async () => {
  await server?.kill();
  await database?.stop();
  app?.remove();
});

async function versionRun(): Promise<string> {
  const id = await start(server, "quick");
  await rowIn(database, id, "completed");
  return (await ask(server, id)).result.version;
}

test("twenty reloads in next dev make no second pool and no second worker, and run the new code (S34)", async () => {
  const path = join(app.folder, "lib/handlers.ts");
  const code = readFileSync(path, "utf8");
  expect(await versionRun()).toBe("version 0");
  for (let i = 1; i <= 20; i += 1) {
    writeFileSync(path, code.replace("version 0", `version ${i}`));
    await until(async () => (await versionRun()) === `version ${i}`, `the code of version ${i}`);
  }
  expect(await backends(database)).toBeLessThanOrEqual(5);
  expect(await database.query("select * from leasehold.workers")).toHaveLength(1);
  const id = await hook(server);
  expect(await rowIn(database, id, "completed")).toMatchObject({
    result: { version: "version 20" },
  });
}, 300_000);
