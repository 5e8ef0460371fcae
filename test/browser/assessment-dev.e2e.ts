import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cardOf, showsBalance, submitOn } from "./support/assessment.ts";
import { launchChromium } from "./support/chromium.ts";
import { installApp, type NextApp } from "./support/next-app.ts";
import { type NextServer, serve } from "./support/next-server.ts";
import { sees } from "./support/sees.ts";
import { until } from "./support/until.ts";

let app: NextApp;
let server: NextServer;

beforeAll(async () => {
  app = await installApp("examples/assessment");
});
afterAll(async () => {
  await server?.kill();
  app?.remove();
});

/** What lives of all that was started with this variable; those that wait to be collected do not. */
function living(mark: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(mark);
    } catch {
      return false; // no process, or gone
    }
  });
}

test("one command brings a database and the page, and takes all of it away again", async () => {
  const mark = `ASSESSMENT_MARK=${process.pid}-${Date.now()}`;
  const [name = "", value = ""] = mark.split("=");
  const env = { DATABASE_URL: "", POSTGRES_URL: "", MODEL_STEP_MS: "50", [name]: value };
  server = await serve(app.folder, { command: ["npm", "run", "dev", "--"], env });
  const browser = await launchChromium();
  try {
    const page = await (await browser.newContext()).newPage();
    await page.goto(server.url);
    await page.click("button[value=ann]");
    await sees(page, "#address");
    await showsBalance(page, 3, 0);
    await submitOn(page, "12 Mill Lane");
    const card = await cardOf(page, "completed", 60_000);
    expect(card).toContain("Your assessment is ready. It has cost one point.");
    expect(card).toContain("served once");
    await showsBalance(page, 2, 0);
  } finally {
    await browser.close();
  }
  expect(living(mark).length).toBeGreaterThan(2);
  // To the group, as a terminal does: npm alone leaves behind what its shell has started.
  process.kill(-server.pid, "SIGTERM");
  await server.exited;
  await until(() => living(mark).length === 0, "the end of every process");
});
