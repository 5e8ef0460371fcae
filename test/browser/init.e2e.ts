import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFreshApp, type FreshApp, type Plan } from "./support/fresh-app.ts";
import { type NextServer, serve } from "./support/next-server.ts";
import { type SupabaseDatabase, startSupabaseDatabase } from "./support/supabase-database.ts";

const manifest = ".next/server/functions-config-manifest.json";

/** How many seconds Vercel gives the route, as Next has read it from the file. */
function maxDuration(app: FreshApp): unknown {
  return JSON.parse(app.read(manifest)).functions["/api/leasehold/[...route]"]?.maxDuration;
}

async function commit(app: FreshApp): Promise<void> {
  await app.run("git", "init", "-q");
  await app.run("git", "add", "-A");
  const author = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
  await app.run("git", ...author, "commit", "-qm", "All");
}

describe("a newcomer with Next and Supabase", () => {
  const secret = "a secret of at least sixteen characters";
  let app: FreshApp;
  let database: SupabaseDatabase;
  let server: NextServer;

  beforeAll(async () => {
    app = await createFreshApp(["--ts", "--no-src-dir"], { supabase: true });
    database = await startSupabaseDatabase();
  });
  afterAll(async () => {
    await server?.kill();
    await database?.stop();
    app?.remove();
  });

  it("gets from nothing to a drained job by what init writes and says", async () => {
    const plan = JSON.parse(await app.npx("init", "--yes", "--json")) as Plan;
    expect(plan.files.map(({ action }) => action)).not.toContain("by hand");
    for (const command of plan.next[0]?.run ?? []) await app.follow(command);
    await app.build(); // without a database, and with its check of types
    expect(maxDuration(app)).toBe(300);

    expect(await database.push(join(app.folder, "supabase/migrations"))).toEqual([
      expect.stringMatching(/^\d{14}_leasehold\.sql$/),
      expect.stringMatching(/^\d{14}_leasehold_wakeups\.sql$/),
    ]);
    const env = { DATABASE_URL: database.url, CRON_SECRET: secret };
    server = await serve(app.folder, { env });
    const enqueued = await app.run(
      "npx",
      ...["leasehold", "enqueue", "greet", '{"name": "Ada"}', "--database-url", database.url],
    );
    const [, id] = /^created (\S+) /.exec(enqueued) ?? [];
    const drain = `${server.url}/api/leasehold/drain?wait=1`;
    expect((await fetch(drain)).status).toBe(401);
    const answer = await fetch(drain, { headers: { authorization: `Bearer ${secret}` } });
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 200,
      body: { reason: "empty", completed: 1 },
    });
    expect(await database.query("select id, status, result from leasehold.jobs")).toEqual([
      { id, status: "completed", result: { greeted: { name: "Ada" } } },
    ]);
    const started = await fetch(`${server.url}/api/leasehold/jobs/greet`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(started.status).toBe(401); // until somebody says who asks
  });

  it("finds everything in place when init runs again", async () => {
    await commit(app);
    const plan = JSON.parse(await app.npx("init", "--yes", "--json")) as Plan;
    expect(plan.written).toBe(false);
    expect(new Set(plan.files.map(({ action }) => action))).toEqual(new Set(["none"]));
    expect(await app.run("git", "status", "--porcelain")).toBe("");
  });

  it("has a commit with the example of variables, and without the embedded database", async () => {
    app.write(".leasehold/pgdata/PG_VERSION", "18\n");
    expect(await app.run("git", "status", "--porcelain")).toBe("");
    expect(await app.run("git", "ls-files", ".env.example", "supabase")).toMatch(
      /^\.env\.example\nsupabase\/config\.toml\n/,
    );
  });
});

describe("an application in JavaScript under src, which webpack builds, with PGlite", () => {
  let app: FreshApp;
  beforeAll(async () => {
    app = await createFreshApp(["--js", "--src-dir"]);
  });
  afterAll(() => app?.remove());

  it("builds with cacheComponents and what init writes, next.config included", async () => {
    expect(app.read("next.config.mjs")).toContain("cacheComponents: true");
    app.write(
      "package.json",
      app.read("package.json").replace('"next build"', '"next build --webpack"'),
    );
    await app.follow("npm install leasehold postgres @electric-sql/pglite zod");
    const plan = JSON.parse(await app.npx("init", "--yes", "--json", "--vercel-cron")) as Plan;
    expect(plan.files.map(({ path, action }) => `${action} ${path}`)).toEqual([
      "create src/lib/jobs.js",
      "create src/lib/leasehold.js",
      "create src/app/api/leasehold/[...route]/route.js",
      "edit next.config.mjs",
      "create .env.example",
      "edit .gitignore",
      "create vercel.json",
    ]);
    expect(await app.build()).toContain("ƒ /api/leasehold/[...route]");
    expect(maxDuration(app)).toBe(300);
  });
});
