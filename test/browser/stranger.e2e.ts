import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { shellLines } from "../cli/docs-commands.ts";
import { blocksOf } from "../support/docs.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { launchChromium } from "./support/chromium.ts";
import { createFreshApp, type FreshApp, type Plan, type Step } from "./support/fresh-app.ts";
import { type NextServer, serve } from "./support/next-server.ts";
import { sees } from "./support/sees.ts";
import { until } from "./support/until.ts";

/** What the page about the dashboard takes for granted: an application that knows who asks. */
const session = `export async function sessionOf(request: Request) {
  const [, who] = /session=(\\w+)/.exec(request.headers.get("cookie") ?? "") ?? [];
  if (who === undefined) return null;
  return { email: who + "@example.com", isAdmin: who === "ann", isStaff: true };
}
`;

/** The module of this path as a page shows it. */
function moduleIn(page: string, path: string): string {
  const found = blocksOf(page).find(({ code }) => code.split(/[\n,]/)[0] === `// ${path}`);
  if (found === undefined) throw new Error(`${page} shows no ${path}`);
  return found.code;
}

const dashboardPath = "app/admin/queue/route.ts";

describe("a stranger with Next and a PostgreSQL", () => {
  let app: FreshApp;
  let database: PostgresServer;
  let server: NextServer;
  let browser: Browser;
  let steps: readonly Step[];
  let id: string;

  beforeAll(async () => {
    [app, database, browser] = await Promise.all([
      createFreshApp(["--ts", "--no-src-dir"]),
      startPostgres(),
      launchChromium(),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.kill();
    await database?.stop();
    app?.remove();
  });

  /** Types commands into one shell, until one fails. */
  const type = (commands: readonly string[] = ["false"]): Promise<string> =>
    app.run("sh", "-euc", commands.join("\n"));

  /** A page of a browser in which `who` is signed in. */
  async function pageOf(who: string): Promise<Page> {
    const context = await browser.newContext({ locale: "en-GB" });
    await context.addCookies([{ name: "session", value: who, url: server.url }]);
    return context.newPage();
  }

  it("sets up the project and the database by what init writes and says", async () => {
    await app.follow("npm install leasehold pg");
    const plan = JSON.parse(await app.run("npx", "leasehold", "init", "--yes", "--json")) as Plan;
    expect(plan.files.map(({ path, action }) => `${action} ${path}`)).toEqual([
      "create lib/jobs.ts",
      "create lib/leasehold.ts",
      "create app/api/leasehold/[...route]/route.ts",
      "create .env.example",
      "edit .gitignore",
    ]);
    steps = plan.next;
    const shown = shellLines().filter(({ page }) => page === "docs/start.md");
    const said = steps.flatMap(({ run }) => run);
    expect(shown.map(({ code }) => code)).toEqual(expect.arrayContaining(said));
    const [install, variables, migrate] = steps;
    await type(install?.run);
    await type(variables?.run);
    const filledIn = app
      .read(".env.local")
      .replace(/^DATABASE_URL=.*$/m, `DATABASE_URL="${database.url}"`)
      .replace(/^CRON_SECRET=$/m, "CRON_SECRET=0123456789abcdef0123456789abcdef");
    app.write(".env.local", filledIn);
    expect(await type(migrate?.run)).toMatch(/^The schema "leasehold" is now at version \d+\.$/m);
  });

  it("adds what the documentation shows, and builds", async () => {
    app.write("lib/session.ts", session);
    app.write(dashboardPath, moduleIn("docs/dashboard.md", dashboardPath));
    app.write("app/start/queue/route.ts", moduleIn("docs/start.md", dashboardPath));
    app.write("app/page.tsx", moduleIn("docs/start.md", "app/page.tsx"));
    const built = await app.build();
    expect(built).toContain("ƒ /admin/queue");
    expect(built).toContain("ƒ /start/queue");
    // As .env.local has it; what a machine has set would go before that.
    server = await serve(app.folder, { env: { DATABASE_URL: database.url } });
  });

  it("enqueues a first job and drains it by the next commands", async () => {
    const [, , , start, firstJob] = steps;
    expect(start?.run).toEqual(["npm run dev"]); // this one runs in production instead
    const run = firstJob?.run.map((line) => line.replace("http://localhost:3000", server.url));
    const said = await type(run);
    const [, created = "", drained = ""] = /^created (\S+).*\n([\s\S]*)$/.exec(said) ?? [];
    id = created;
    expect(JSON.parse(drained)).toMatchObject({ reason: "empty", completed: 1 });
  });

  it("enqueues another one from a page, which runs behind the answer", async () => {
    const page = await pageOf("ann");
    await page.goto(server.url);
    const answered = page.waitForResponse((response) => response.request().method() === "POST");
    await page.click("button:has-text('Greet')");
    await answered;
    await page.goto(`${server.url}/admin/queue?view=jobs`);
    await sees(page, "tr[data-job] .badge.completed >> nth=1");
    await page.context().close();
  });

  it("sees the finished job in the dashboard", async () => {
    const page = await pageOf("ann");
    const troubles: string[] = [];
    page.on("console", (said) => {
      if (said.type() === "error" || said.type() === "warning") troubles.push(said.text());
    });
    page.on("pageerror", ({ message }) => void troubles.push(message));
    await page.goto(`${server.url}/admin/queue`);
    await sees(page, "h1:has-text('Overview')");
    await page.click("nav >> text=Jobs");
    const row = `tr[data-job="${id}"]`;
    await sees(page, `${row} .badge.completed`);
    await page.click(`${row} a`);
    await sees(page, "h1:has-text('greet') .badge.completed");
    const timeline = await page.locator(".timeline b").allTextContents();
    expect(timeline).toEqual(["enqueued", "claimed as generation 1", "completed"]);
    const told = await page.textContent("main");
    for (const shown of ["Ada", "greeted"]) expect(told).toContain(shown);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it("lets whoever is no admin look, and a guest not even that", async () => {
    const page = await pageOf("bob");
    await page.goto(`${server.url}/admin/queue`);
    await sees(page, "text=read only");
    await page.context().close();
    expect((await fetch(`${server.url}/admin/queue`)).status).toBe(404);
  });

  it("is told in the log why a page without authorize is not there", async () => {
    const headers = { cookie: "session=ann" };
    const answer = await fetch(`${server.url}/start/queue`, { headers });
    expect(answer.status).toBe(404);
    expect(await answer.text()).not.toContain("leasehold");
    const wayOut = "the dashboard is closed: pass `authorize: (request) =>";
    await until(() => server.output().includes(wayOut), "the way out in the log");
  });
});
