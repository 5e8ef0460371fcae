import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { launchChromium } from "./support/chromium.ts";
import { hostile, type Served, seed, serveDashboard } from "./support/dashboard.ts";
import { sees } from "./support/sees.ts";
import { until } from "./support/until.ts";

// What stands in the page, for the functions that run there: DOM's types would be those of all files.
// biome-ignore lint/suspicious/noExplicitAny: see above
declare const document: any;
declare const location: { readonly pathname: string };
declare const innerWidth: number;

let served: Served;
let browser: Browser;
const troubles: string[] = [];

beforeAll(async () => {
  served = await serveDashboard();
  browser = await launchChromium();
});
beforeEach(async () => {
  troubles.length = 0;
  await seed(served);
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  expect(troubles).toEqual([]);
});
afterAll(async () => {
  await browser?.close();
  await served?.stop();
});

/** A page in a browser of its own; what it complains of, or shows as a dialog, fails the test. */
async function open(
  place: Record<string, string> = {},
  { role = "admin", ...options }: BrowserContextOptions & { role?: "admin" | "read" } = {},
): Promise<Page> {
  const context = await browser.newContext({ locale: "en-GB", ...options });
  const page = await context.newPage();
  page.on("console", (said) => {
    if (said.type() === "error" || said.type() === "warning") troubles.push(said.text());
  });
  page.on("pageerror", ({ message }) => void troubles.push(message));
  page.on("dialog", (dialog) => {
    troubles.push(`a dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(served.url(role)).origin) {
      troubles.push(`asked ${request.url()}`);
    }
  });
  await page.goto(`${served.url(role)}?${new URLSearchParams(place)}`);
  await sees(page, "h1");
  await page.waitForFunction(() => !document.querySelector(".empty")?.textContent?.startsWith("…"));
  return page;
}

async function idOf(where: string): Promise<string> {
  const [row] = await served.query(`select id from leasehold.jobs where ${where} limit 1`);
  if (row === undefined) throw new Error(`No job where ${where}`);
  return row.id;
}

async function count(where: string): Promise<number> {
  const [row] = await served.query(`select count(*)::int as n from leasehold.jobs where ${where}`);
  return row?.n;
}

const notice = (page: Page, text: RegExp) =>
  page.waitForFunction(
    ([pattern]) =>
      new RegExp(pattern ?? "").test(document.querySelector(".notice")?.textContent ?? ""),
    [text.source],
  );

const places = async (): Promise<Record<string, Record<string, string>>> => ({
  overview: {},
  jobs: { view: "jobs" },
  failed: { view: "jobs", status: "failed", error_code: "HTTP_503" },
  job: { view: "job", id: await idOf(`generation = 2`) },
  running: { view: "job", id: await idOf(`kind = 'import'`) },
  orphan: { view: "job", id: await idOf(`kind = 'orphan'`) },
  kinds: { view: "kinds" },
  credits: { view: "credits" },
  account: { view: "credits", account: hostile.account },
  workers: { view: "workers" },
  alerts: { view: "alerts" },
  everyAlert: { view: "alerts", all: "1" },
});

const looks: Record<string, BrowserContextOptions> = {
  light: { colorScheme: "light", viewport: { width: 1200, height: 800 } },
  dark: { colorScheme: "dark", viewport: { width: 1200, height: 800 } },
  narrow: { colorScheme: "light", viewport: { width: 360, height: 740 } },
};

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

describe.each(Object.entries(looks))("in %s", (look, options) => {
  test("every view is there, fits, and is accessible", async () => {
    // DASHBOARD_SHOTS is a folder for screenshots, for whoever wants to look at them.
    const shots = process.env.DASHBOARD_SHOTS;
    if (shots) mkdirSync(shots, { recursive: true });
    for (const [name, place] of Object.entries(await places())) {
      // The checker is no part of the page, whose policy would refuse it.
      const page = await open(place, { ...options, bypassCSP: true });
      if (shots)
        await page.screenshot({ path: join(shots, `${look}-${name}.png`), fullPage: true });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wide, `${name} is too wide`).toBeLessThanOrEqual(0);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() =>
        (
          globalThis as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }
        ).axe.run(),
      );
      const serious = violations.filter(
        ({ impact }) => impact === "serious" || impact === "critical",
      );
      const told = serious.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`,
      );
      expect(told, name).toEqual([]);
      await page.context().close();
    }
  });
});

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

describe("names and texts of any kind", () => {
  test("show as text, wherever they stand", async () => {
    for (const [name, place] of Object.entries(await places())) {
      const page = await open(place);
      await page.waitForTimeout(100);
      const foreign = await page.evaluate(
        () =>
          document.querySelectorAll("#root script, #root img, #root i, [onmouseover], [onerror]")
            .length,
      );
      expect(foreign, name).toBe(0);
      await page.context().close();
    }
    const page = await open({ view: "job", id: await idOf("generation = 2") });
    const text = await page.textContent("main");
    for (const shown of [
      hostile.kind,
      hostile.key,
      hostile.owner,
      hostile.error,
      hostile.account,
    ]) {
      expect(text).toContain(shown);
    }
    for (const details of await page.$$("details:not([open]) > summary")) await details.click();
    expect(await page.textContent("main")).toContain(hostile.payload["<i>name</i>"]);
  });

  test("what is redacted never comes to the browser", async () => {
    const page = await open({ view: "job", id: await idOf("generation = 2") });
    expect(await page.textContent("main")).toContain("[redacted]");
    const facts = (await page.textContent(".facts")) ?? "";
    expect(facts).toContain(hostile.trace.traceparent.split("-")[1]);
    const answered = page.waitForResponse((response) => response.url().includes("api=job"));
    expect(await (await answered).text()).not.toContain("s3cret");
  });

  test("work in every link, after a reload and with the back button", async () => {
    const page = await open({ view: "job", id: await idOf("generation = 2") });
    await page.click(".facts a >> nth=1"); // its key
    await sees(page, "tr[data-job]");
    expect(await page.locator("tr[data-job]").count()).toBe(1);
    expect(await page.inputValue("#filter-key")).toBe(hostile.key);
    expect(await page.inputValue("#filter-kind")).toBe(hostile.kind);
    await page.reload();
    await sees(page, "tr[data-job]");
    expect(await page.inputValue("#filter-key")).toBe(hostile.key);
    await page.goBack();
    await sees(page, ".timeline");
    await page.click(`text=${hostile.account} >> nth=0`);
    await sees(page, "text=Entries");
    expect(await page.textContent("h1")).toBe(hostile.account);
    await page.reload();
    await sees(page, "text=Entries");
    expect(await page.textContent("main")).toContain('a "reference" <b>');
  });

  test("typed as a filter find the job", async () => {
    const page = await open({ view: "jobs" });
    await page.fill("#filter-owner", hostile.owner);
    await page.press("#filter-owner", "Enter");
    await page.waitForFunction(() => document.querySelectorAll("tr[data-job]").length === 1);
    expect(new URL(page.url()).searchParams.get("owner")).toBe(hostile.owner);
  });
});

describe("acts", () => {
  test("a failed job is queued again, and a double click does no harm", async () => {
    const id = await idOf("status = 'failed'");
    const page = await open({ view: "job", id });
    await page.dblclick("button:has-text('Re-run')");
    await sees(page, "h1 .badge.queued");
    expect(await count(`id = '${id}' and status = 'queued' and run = 2`)).toBe(1);
    await sees(page, "text=retried");
  });

  test("of two browsers one wins, and the other is told", async () => {
    const id = await idOf("status = 'failed'");
    const [one, other] = [await open({ view: "job", id }), await open({ view: "job", id })];
    await other.click("button:has-text('Hold still')");
    await sees(other, "h1 .badge.failed");
    await one.click("button:has-text('Re-run')");
    await notice(one, /1 job queued again/);
    await other.click("button:has-text('Re-run')");
    await notice(other, /its status is another by now/);
    await sees(other, "h1 .badge.queued");
    expect(await count(`id = '${id}' and run = 2`)).toBe(1);
  });

  test("a re-run whose key is busy is refused with the reason, and who has it", async () => {
    const id = await idOf("status = 'failed' and key = 'report 7'");
    await served.query("select leasehold.enqueue('report', '{}', '{\"key\": \"report 7\"}')");
    const page = await open({ view: "job", id });
    await sees(page, "text=Its key is held by");
    await page.click("button:has-text('Re-run')");
    await notice(page, /another unfinished job has its key/);
    expect(await count(`id = '${id}' and status = 'failed'`)).toBe(1);
  });

  test("a completed job has no re-run, and one that is tried all the same is passed over", async () => {
    const id = await idOf("status = 'completed'");
    const page = await open({ view: "job", id });
    expect(await page.isDisabled("button:has-text('Re-run')")).toBe(true);
    const answered = await page.evaluate(
      async ([job]) => {
        const response = await fetch(`${location.pathname}?api=act`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-leasehold-dashboard": "1" },
          body: JSON.stringify({ action: "retry", ids: [job] }),
        });
        return response.json();
      },
      [id],
    );
    expect(answered).toEqual({
      answer: { retried: 0, skipped: [{ id, outcome: "wrong_status" }] },
    });
  });

  test("cancel, run now and remove", async () => {
    const page = await open({ view: "job", id: await idOf("kind = 'hourly'") });
    await page.click("button:has-text('Run now')");
    await notice(page, /1 job due at once/);
    expect(await count("kind = 'hourly' and run_after <= now()")).toBe(1);
    await page.click("button:has-text('Cancel')");
    await sees(page, "h1 .badge.cancelled");
    await page.click("button:has-text('Remove')");
    await page.click("dialog button.primary");
    await sees(page, "h1:has-text('Jobs')");
    expect(await count("kind = 'hourly'")).toBe(0);
  });

  test("selected rows are re-run", async () => {
    const page = await open({ view: "jobs", status: "failed" });
    await page.check("tr[data-job] >> nth=0 >> input");
    await page.check("tr[data-job] >> nth=1 >> input");
    await page.click(".selection button:has-text('Re-run')");
    await page.click("dialog button.primary");
    await notice(page, /2 jobs queued again/);
    expect(await count("kind = 'report' and status = 'queued'")).toBe(2);
  });

  test("all that match are re-run, once their number is typed", async () => {
    await served.query(`insert into leasehold.jobs (id, kind, key, status, attempts, finished_at)
      select leasehold._uuid7(now() + n * interval '1 ms'), 'report', 'more ' || n, 'failed', 1, now() from generate_series(1, 600) n`);
    const holder = "select leasehold.enqueue('report', '{}', '{\"key\": \"report 3\"}')";
    await served.query(holder);
    const page = await open({ view: "jobs", status: "failed", kind: "report" });
    await sees(page, "text=failed 630");
    await page.check("text=Select all on this page");
    await page.check("text=/all 630 that match/");
    await page.click(".selection button:has-text('Re-run')");
    await sees(page, "dialog >> text=Type 630 to confirm");
    expect(await page.isDisabled("dialog button.primary")).toBe(true);
    await page.fill("dialog input", "63");
    expect(await page.isDisabled("dialog button.primary")).toBe(true);
    await page.fill("dialog input", "630");
    await page.click("dialog button.primary");
    await notice(page, /629 jobs queued again; 1 job passed over/);
    expect(await count("kind = 'report' and status = 'queued'")).toBe(630);
    expect(await count("kind = 'report' and status = 'failed'")).toBe(1);
  });

  test("a kind is paused and resumed", async () => {
    const page = await open({ view: "kinds" });
    const row = page.locator("tr", { hasText: "mail/send" });
    await row.locator("button").click();
    await page.click("dialog button.primary");
    await notice(page, /is paused/);
    const paused = async () =>
      (await served.query("select kind from leasehold.kinds where paused_at is not null")).map(
        ({ kind }) => kind,
      );
    expect(await paused()).toEqual([hostile.kind]);
    await row.locator("button:has-text('Resume')").click();
    await notice(page, /is resumed/);
    expect(await paused()).toEqual([]);
  });

  test("alerts are acknowledged, under the name of who did", async () => {
    const page = await open({ view: "alerts" });
    expect(await page.locator("article").count()).toBe(2);
    await page.locator("article.critical >> button").click();
    await page.waitForFunction(() => document.querySelectorAll("article").length === 1);
    const rows = await served.query(
      "select severity, acknowledged_by from leasehold.alerts order by severity",
    );
    expect(rows).toEqual([
      { severity: "critical", acknowledged_by: "ann" },
      { severity: "warning", acknowledged_by: null },
    ]);
    await page.click("text=all");
    await page.waitForFunction(() => document.querySelectorAll("article").length === 2);
  });

  test("the books are checked", async () => {
    const page = await open({ view: "credits" });
    await page.click("text=Check the books");
    await sees(page, "text=They balance.");
  });

  test("who may only look has no button that acts", async () => {
    for (const place of Object.values(await places())) {
      const page = await open(place, { role: "read" });
      const acting = page.locator(
        "main button:not(:has-text('Check the books')):not(:has-text('Copy'))",
      );
      expect(await acting.count()).toBe(0);
      expect(await page.locator("main input[type=checkbox]").count()).toBe(0);
      await page.context().close();
    }
  });
});

describe("the page", () => {
  test("is worked by keys", async () => {
    const page = await open({ view: "jobs", status: "failed" });
    const here = () => page.getAttribute("tr.here", "data-job");
    const rows = await page
      .locator("tr[data-job]")
      .evaluateAll((all) => all.map((row) => row.getAttribute("data-job")));
    expect(await here()).toBe(rows[0]);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await until(async () => (await here()) === rows[1], "the second row");
    await page.keyboard.press("x");
    await sees(page, "text=1 selected");
    await page.keyboard.press("r");
    await notice(page, /1 job queued again/);
    expect(await count(`id = '${rows[1]}' and status = 'queued'`)).toBe(1);
    await page.keyboard.press("?");
    await sees(page, "dialog >> text=Keys");
    await page.keyboard.press("Escape");
    await sees(page, "dialog", { state: "detached" });
    await page.keyboard.press("/");
    await page.keyboard.type("report");
    await page.keyboard.press("Enter");
    await until(() => new URL(page.url()).searchParams.get("kind") === "report", "the filter");
    await page.locator("h1").click();
    await page.keyboard.press("Enter");
    await sees(page, ".timeline");
    await page.keyboard.press("r");
    await sees(page, "h1 .badge.queued");
    expect(await count(`id = '${new URL(page.url()).searchParams.get("id")}' and run = 2`)).toBe(1);
  });

  test("shows what changes by itself, and asks nothing while it is hidden or held still", async () => {
    const page = await open({ view: "jobs" });
    await served.query("select leasehold.enqueue('new one', '{}', '{}')");
    await sees(page, "text=new one", { timeout: 15_000 });
    await page.click("button:has-text('Hold still')");
    await page.waitForTimeout(500);
    const before = served.requests();
    await page.waitForTimeout(6_000);
    expect(served.requests()).toBe(before);
    await page.click("button:has-text('Refresh')");
    await until(() => served.requests() > before, "the next question");
  });

  test("keeps what it knows while the database is away, says so, and goes on by itself", async () => {
    const page = await open({ view: "jobs" });
    await sees(page, "tr[data-job]");
    await served.crash();
    await sees(page, "text=What you see is from before.", { timeout: 40_000 });
    expect(await page.locator("tr[data-job]").count()).toBeGreaterThan(0);
    await served.startAgain();
    await sees(page, ".stale", { state: "detached", timeout: 40_000 });
    // The browser's own words about answers of 503.
    troubles.splice(0, troubles.length, ...troubles.filter((said) => !/503/.test(said)));
  });

  test("pages of jobs neither skip nor repeat", async () => {
    await served.query(`insert into leasehold.jobs (id, kind, status, attempts, finished_at)
      select leasehold._uuid7(now() - n * interval '1 s'), 'many', 'completed', 1, now() from generate_series(1, 120) n`);
    const page = await open({ view: "jobs", kind: "many" });
    const seen: string[] = [];
    for (;;) {
      await sees(page, "tr[data-job]");
      const shown = await page
        .locator("tr[data-job]")
        .evaluateAll((all) => all.map((row) => row.getAttribute("data-job") ?? ""));
      seen.push(...shown);
      const older = page.locator("text=Older");
      if ((await older.count()) === 0) break;
      await older.click();
      await page.waitForFunction(
        ([first]) =>
          document.querySelector("tr[data-job]") &&
          !document.querySelector(`tr[data-job="${first}"]`),
        [shown[0]],
      );
    }
    expect([seen.length, new Set(seen).size]).toEqual([120, 120]);
  });
});
