import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { launchChromium } from "./support/chromium.ts";
import { type AppDatabase, startDatabase } from "./support/database.ts";
import { ask, backends, hook, rowIn, start } from "./support/door.ts";
import { installApp, type NextApp } from "./support/next-app.ts";
import { type NextServer, type ServeOptions, serve } from "./support/next-server.ts";
import { sees } from "./support/sees.ts";
import { until } from "./support/until.ts";

let app: NextApp;
let database: AppDatabase;
let server: NextServer;
let built: string;

beforeAll(async () => {
  app = await installApp("test/browser/apps/door");
  built = await app.build();
  database = await startDatabase(app.folder);
});
afterEach(() => server?.kill());
afterAll(async () => {
  await database?.stop();
  app?.remove();
});

async function begin(env: Record<string, string> = {}, options: ServeOptions = {}): Promise<void> {
  server = await serve(
    options.mode === "standalone" ? `${app.folder}/.next/standalone` : app.folder,
    {
      ...options,
      env: { DATABASE_URL: database.url, ...env },
    },
  );
}

/** The page of the queue shows the job, completed, in a real browser. */
async function showsInDashboard(id: string): Promise<void> {
  const browser = await launchChromium();
  try {
    const context = await browser.newContext({ locale: "en-GB" });
    await context.addCookies([{ name: "admin", value: "1", url: server.url }]);
    const page = await context.newPage();
    await page.goto(`${server.url}/admin/queue?view=job&id=${id}`);
    await sees(page, "h1 .badge.completed");
  } finally {
    await browser.close();
  }
}

describe("leasehold/next in next start", () => {
  test("a build with cacheComponents takes the catch-all route as it is", () => {
    expect(built).toContain("Cache Components enabled");
    expect(built).toMatch(/ƒ \/api\/leasehold\/\[\.\.\.route\]/);
  });

  test("start answers 202 before the work has ended, and the job completes", async () => {
    await begin();
    const id = await start(server, "quick");
    expect(await ask(server, id)).toMatchObject({ finishedAt: null });
    const row = await rowIn(database, id, "completed");
    expect(row.worker).toMatch(/^start-/);
    expect(await ask(server, id)).toMatchObject({
      status: "completed",
      result: { version: "version 0" },
    });
  });

  test("what the work throws is recorded and logged", async () => {
    await begin();
    const row = await rowIn(database, await start(server, "broken"), "failed");
    expect(row).toMatchObject({ last_error_message: "the model is away" });
    await until(() => /leasehold: .*the model is away/.test(server.output()), "the log");
  });

  test("the dashboard runs under a path of the application, for who may see it", async () => {
    await begin();
    await showsInDashboard(await start(server, "quick"));
    expect((await fetch(`${server.url}/admin/queue`)).status).toBe(404);
  });

  test("a server action starts a job, in a real browser", async () => {
    await begin();
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      await page.goto(server.url);
      await page.click("button");
      const id = await page.textContent("output");
      expect(await rowIn(database, String(id), "completed")).toMatchObject({ owner: "ann" });
    } finally {
      await browser.close();
    }
  });

  test("webhooks at the same time share drains behind their answers, and none is lost", async () => {
    await begin();
    const ids = await Promise.all(Array.from({ length: 8 }, () => hook(server)));
    for (const id of ids) await rowIn(database, id, "completed");
  });
});

describe("the end of the process", () => {
  const credits = async () => {
    const [row] = await database.query("select leasehold.credits('payer') as credits");
    return row?.credits;
  };

  beforeAll(async () => {
    await database.query("select leasehold.grant_credits('payer', 10, 'test')");
  });

  test("at SIGTERM jobs in hand have 5 s, then fail and are given back, before Next exits", async () => {
    await begin();
    const ids = await Promise.all(["slow", "deaf"].map((kind) => start(server, kind)));
    for (const id of ids) await rowIn(database, id, "running");
    expect(await credits()).toMatchObject({ available: 8, held: 2 });
    const signalledAt = performance.now();
    server.signal("SIGTERM");
    expect(await server.exited).toBe(143);
    const tookMs = performance.now() - signalledAt;
    expect(tookMs).toBeGreaterThan(4_900);
    expect(tookMs).toBeLessThan(9_000);
    for (const id of ids) {
      expect(await rowIn(database, id, "failed")).toMatchObject({ last_error_code: "SHUTDOWN" });
    }
    expect(await credits()).toMatchObject({ available: 10, held: 0 });
  });

  test("after SIGKILL whoever asks in the next process finds the job ended and paid back", async () => {
    await begin();
    const id = await start(server, "slow");
    await rowIn(database, id, "running");
    await server.kill();
    expect(await credits()).toMatchObject({ available: 8, held: 2 });
    await database.query(
      "update leasehold.jobs set lease_until = lease_until - interval '10 s' where id = $1",
      [id],
    );
    await begin();
    expect(await ask(server, id)).toMatchObject({ status: "failed" });
    expect(await credits()).toMatchObject({ available: 10, held: 0 });
  });

  test("a worker of instrumentation.ts stops by itself where signals are left to it", async () => {
    await begin({ WORKER: "1", NEXT_MANUAL_SIG_HANDLE: "1" });
    const workers = () => database.query("select * from leasehold.workers");
    await until(async () => (await workers()).length === 1, "one worker");
    expect(await backends(database)).toBeLessThanOrEqual(5);
    server.signal("SIGTERM");
    expect(await server.exited).toBe("SIGTERM");
    expect(await workers()).toEqual([]);
  });
});

describe("the standalone output", () => {
  test("runs from its own folder", async () => {
    await begin({}, { mode: "standalone" });
    const id = await start(server, "quick");
    await rowIn(database, id, "completed");
    await showsInDashboard(id);
  });

  test("has the embedded database with it", async () => {
    await begin({ PGLITE_FOLDER: "data" }, { mode: "standalone" });
    const id = await start(server, "quick");
    await until(async () => (await ask(server, id)).finishedAt, "the end of the job");
    expect(await ask(server, id)).toMatchObject({ status: "completed" });
  });
});

describe("webpack", () => {
  test("builds it as well, and start works", async () => {
    await app.build({ bundler: "webpack", env: { WITHOUT_TYPES: "1" } });
    await begin();
    await rowIn(database, await start(server, "quick"), "completed");
  });
});
