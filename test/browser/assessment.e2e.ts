import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import {
  type Assessment,
  cardOf,
  openAssessment,
  pageOf,
  showsBalance,
  submit,
  submitOn,
} from "./support/assessment.ts";
import { launchChromium } from "./support/chromium.ts";
import type { NextServer } from "./support/next-server.ts";
import { entriesOf, grant, jobsOf } from "./support/points.ts";
import { sees } from "./support/sees.ts";
import { until } from "./support/until.ts";

let app: Assessment;
let server: NextServer;
let browser: Browser;

beforeAll(async () => {
  app = await openAssessment();
  server = await app.serve({ MODEL_STEP_MS: "1000" });
});
beforeEach(async () => {
  browser = await launchChromium();
});
afterEach(async () => {
  app.outside.release();
  await browser.close();
});
afterAll(async () => {
  await server?.kill();
  await app?.stop();
});

/** A page of a user of this test, who has `points` and an assessment in the middle of its work. */
async function inTheMiddle(user: string, locale?: string): Promise<Page> {
  await grant(app.database, user, 3);
  const page = await pageOf(browser, server, user, locale);
  app.outside.hold();
  await submitOn(page, `12 Mill Lane of ${user}`);
  await sees(page, "text=Asking about flood");
  return page;
}

test("who signs in has points once, and may not spend more than them", async () => {
  const page = await (await browser.newContext()).newPage();
  for (let visit = 0; visit < 2; visit += 1) {
    await page.goto(server.url);
    await page.click("button[value=ben]");
    await showsBalance(page, 1, 0);
    await page.click("text=Sign out");
    await sees(page, "text=Who are you?");
  }
  await page.click("button[value=ben]");
  await sees(page, "#address");
  await submitOn(page, "5 Only Street");
  expect(await cardOf(page, "completed")).toContain("Safe enough");
  await showsBalance(page, 0, 0);
  await submitOn(page, "6 Too Many Street");
  await sees(page, "text=You have no point left. Nothing was started or charged.");
  expect(await jobsOf(app.database, "ben")).toHaveLength(1);
});

test("a submit is followed to its result in every tab, and a second one is told of it", async () => {
  const page = await inTheMiddle("carol");
  await showsBalance(page, 2, 1);
  expect(await page.getAttribute("progress", "value")).toBe("5");

  const other = await page.context().newPage();
  await other.goto(server.url);
  expect(await cardOf(other, "running")).toContain("12 Mill Lane of carol");
  await submitOn(other, "99 Second Street");
  await sees(other, "text=already running, so no second one was started");
  const followed = (each: Page) => each.getAttribute("[data-job]", "data-job");
  expect(await followed(other)).toBe(await followed(page));

  app.outside.release();
  await page.waitForFunction("document.querySelector('progress')?.value > 5");
  for (const each of [page, other]) {
    const card = await cardOf(each, "completed");
    expect(card).toContain("Your assessment is ready. It has cost one point.");
    expect(card).toContain("50 of 100");
    await showsBalance(each, 2, 0);
    await sees(each, ".list >> text=12 Mill Lane of carol");
  }
  await sees(other, "text=already running", { state: "detached" });
  expect(await jobsOf(app.database, "carol")).toHaveLength(1);
  expect(await entriesOf(app.database, "carol")).toEqual(["grant", "hold", "capture"]);
});

test("three checks at once ask for their map tile once", async () => {
  const before = new Map(app.outside.calls);
  const page = await inTheMiddle("dora");
  app.outside.release();
  const card = await cardOf(page, "completed");
  const asked = (path: string) => (app.outside.calls.get(path) ?? 0) - (before.get(path) ?? 0);
  expect(["/flood", "/crime", "/traffic", "/tile"].map(asked)).toEqual([1, 1, 1, 1]);
  expect(card).toContain("shared one map tile");
});

test("a cancel stops the work and gives the point back", async () => {
  const page = await inTheMiddle("eric");
  await page.click("text=Cancel");
  const card = await cardOf(page, "cancelled");
  expect(card).toContain("Cancelled. You were not charged: your point is back.");
  await showsBalance(page, 3, 0);
  expect(await entriesOf(app.database, "eric")).toEqual(["grant", "hold", "give_back"]);
});

test("notices are in the browser's language", async () => {
  const page = await inTheMiddle("fumi", "ja-JP");
  expect(await cardOf(page, "running")).toContain("地域を評価しています。");
  app.outside.release();
  expect(await cardOf(page, "completed")).toContain("1ポイントを使用しました。");
});

test("a connection that is away leaves the last value, and is gone on with when it is back", async () => {
  const page = await inTheMiddle("gina");
  await page.context().setOffline(true);
  await sees(page, "text=No connection. This is the last we know");
  expect(await cardOf(page, "running")).toContain("12 Mill Lane of gina");
  expect(await page.getAttribute("progress", "value")).toBe("5");
  await page.context().setOffline(false);
  await sees(page, "text=No connection", { state: "detached" });
  app.outside.release();
  await cardOf(page, "completed");
});

/** A headless Chromium takes every page for a visible one, so the page is told otherwise. */
async function show(page: Page, visibility: "hidden" | "visible"): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, "visibilityState", { value: "${visibility}", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));`);
}

test("a hidden page does not ask, and asks at once when it is shown", async () => {
  const page = await inTheMiddle("hugo");
  const other = await pageOf(browser, server, "hugo");
  let polls = 0;
  await show(page, "hidden");
  page.on("request", (request) => {
    if (request.url().includes("/jobs/")) polls += 1;
  });
  // The other tab of the same user goes on: when it has the end, so would this one.
  app.outside.release();
  await cardOf(other, "completed");
  await showsBalance(other, 2, 0);
  expect(polls).toBe(0);
  expect(await page.getAttribute("[data-status]", "data-status")).toBe("running");
  await show(page, "visible");
  await cardOf(page, "completed");
});

test("a page that is loaded again in the middle goes on where it was", async () => {
  await grant(app.database, "iris", 1);
  app.outside.hold();
  expect((await submit(server, "iris", "7 Reload Road")).status).toBe(202);
  const page = await pageOf(browser, server, "iris");
  await until(async () => (await cardOf(page, "running")).includes("7 Reload Road"), "its address");
  await page.reload();
  await cardOf(page, "running");
  app.outside.release();
  await cardOf(page, "completed");
});
