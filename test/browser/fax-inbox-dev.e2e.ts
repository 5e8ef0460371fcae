import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launchChromium } from "./support/chromium.ts";
import { installApp, type NextApp } from "./support/next-app.ts";
import { type NextServer, serve } from "./support/next-server.ts";
import { sees } from "./support/sees.ts";
import { until } from "./support/until.ts";

let app: NextApp;
let server: NextServer;

beforeAll(async () => {
  app = await installApp("examples/fax-inbox");
  // Its neighbour in the repository, whose mail provider it uses.
  symlinkSync(join(import.meta.dirname, "../../examples/mail"), join(dirname(app.folder), "mail"));
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

test("one command brings all that is needed, sends a fax at the press of a button, and ends", async () => {
  const mark = `FAX_MARK=${process.pid}-${Date.now()}`;
  const [name = "", value = ""] = mark.split("=");
  const env = { DATABASE_URL: "", POSTGRES_URL: "", [name]: value };
  server = await serve(app.folder, { command: ["npm", "run", "dev", "--"], env });
  const browser = await launchChromium();
  try {
    const page = await (await browser.newContext()).newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(server.url);
    await sees(page, "text=No fax has come yet.");
    await page.click("button.primary");
    await sees(page, "[data-state=done]", { timeout: 60_000 });
    const started = page.waitForEvent("download");
    await page.click("text=fax.pdf");
    expect(readFileSync(await (await started).path(), "latin1")).toMatch(/^%PDF-/);
    await page.selectOption("#story", "gone");
    await page.click("button.primary");
    await sees(page, "[data-state=failed]");
    await page.goto(`${server.url}/admin`);
    await page.fill("#password", "fax");
    await page.press("#password", "Enter");
    await page.click("text=Re-run");
    await page.goto(server.url);
    await page.waitForFunction("document.querySelectorAll('[data-state=done]').length === 2");
    expect(errors).toEqual([]);
  } finally {
    await browser.close();
  }
  expect(living(mark).length).toBeGreaterThan(2);
  // To the group, as a terminal does: npm alone leaves behind what its shell has started.
  process.kill(-server.pid, "SIGTERM");
  await server.exited;
  await until(() => living(mark).length === 0, "the end of every process");
});
