import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { launchChromium } from "./support/chromium.ts";
import { isThereOnce } from "./support/fax-attachments.ts";
import {
  adminPassword,
  cardOf,
  eventsOf,
  type FaxInbox,
  inboxOf,
  jobIn,
  jobOf,
  openFaxInbox,
  sendFax,
} from "./support/fax-inbox.ts";
import type { NextServer } from "./support/next-server.ts";
import { sees } from "./support/sees.ts";

let app: FaxInbox;
let server: NextServer;
let browser: Browser;

beforeAll(async () => {
  app = await openFaxInbox();
  server = await app.serve();
});
beforeEach(async () => {
  browser = await launchChromium();
});
afterEach(async () => {
  app.outside.faults.clear();
  await browser.close();
});
afterAll(async () => {
  await server?.kill();
  await app?.stop();
});

async function signedIn(): Promise<Page> {
  const page = await (await browser.newContext({ locale: "en-GB" })).newPage();
  await page.goto(`${server.url}/admin`);
  await page.fill("#password", adminPassword);
  await page.press("#password", "Enter");
  await sees(page, "text=Sign out");
  return page;
}

const jobCard = (id: string) => `section[aria-label] [data-mail="${id}"]`;

test("a person re-runs a failed job, with all its attempts, and it is fetched", async () => {
  const inbox = await inboxOf(browser, server);
  const id = await sendFax(app, server, { at: "mail", how: 404 });
  await cardOf(inbox, id, "failed");
  const page = await signedIn();
  const card = page.locator(`section[aria-label=Failed] [data-mail="${id}"]`);
  expect(await card.textContent()).toContain("the mail provider answered 404: on purpose");
  expect(await card.textContent()).toContain("1 of 5 attempts");
  await card.locator("summary").click();
  expect(await card.locator(".events").textContent()).toMatch(/failed HTTP_404/);
  await card.getByRole("button").click();
  await sees(page, "text=It runs again.");
  await sees(page, jobCard(id), { state: "detached" });
  await cardOf(inbox, id, "done");
  expect(await jobOf(app, id)).toMatchObject({ status: "completed", attempts: 1, run: 2 });
  expect(await eventsOf(app, id)).toEqual(["failed HTTP_404", "retried"]);
  await isThereOnce(app, id);
});

test("a job that has used its five attempts has five again", async () => {
  const id = await sendFax(app, server, { at: "mail", how: 503, times: 2 });
  await jobIn(app, id, "queued", 1);
  await app.database.query("update leasehold.jobs set attempts = 4 where key = $1", [id]);
  const { id: jobId } = await jobOf(app, id);
  await app.database.query("select leasehold.run_now($1)", [jobId]);
  await sendFax(app, server); // its announcement drains
  await jobIn(app, id, "failed", 2);
  const page = await signedIn();
  await page.locator(`[data-mail="${id}"]`).getByRole("button").click();
  await cardOf(await inboxOf(browser, server), id, "done");
  expect(await jobOf(app, id)).toMatchObject({ attempts: 1, generation: 3 });
});

test("two people who re-run it at once run it once", async () => {
  const id = await sendFax(app, server, { at: "mail", how: 404 });
  await jobIn(app, id, "failed", 1);
  const [first, second] = [await signedIn(), await signedIn()];
  await sees(second, jobCard(id));
  // From here on the second page hears no news.
  await second.route("**/api/admin", (route) => route.abort());
  await first.locator(jobCard(id)).getByRole("button").click();
  await sees(first, "text=It runs again.");
  await second.locator(jobCard(id)).getByRole("button").click();
  await sees(second, "text=It has been run again already.");
  await cardOf(await inboxOf(browser, server), id, "done");
  expect(await jobOf(app, id)).toMatchObject({ run: 2, generation: 2 });
});

test("jobs that were given back, and those that are tried again, tell when they go on", async () => {
  const released = await sendFax(app, server, { at: "mail", how: 401 });
  const retried = await sendFax(app, server, { at: "mail", how: 429, retryAfterSeconds: 600 });
  await jobIn(app, retried, "queued", 1);
  const page = await signedIn();
  for (const [title, id] of [
    ["Given back", released],
    ["Tried again", retried],
  ] as const) {
    const card = page.locator(`section[aria-label="${title}"] [data-mail="${id}"]`);
    const { run_after } = await jobOf(app, id);
    const said = await card.locator(".row time").getAttribute("datetime");
    expect(new Date(said ?? "").getTime()).toBe(run_after.getTime());
  }
  const card = page.locator(`section[aria-label="Given back"] [data-mail="${released}"]`);
  expect(await card.textContent()).toContain("The mail provider refused our key.");
  expect(await card.textContent()).toContain("0 of 5 attempts, given back once");
});

test("without the password the admin page shows nothing and does nothing", async () => {
  const id = await sendFax(app, server, { at: "mail", how: 404 });
  await jobIn(app, id, "failed", 1);
  const admin = `${server.url}/admin`;
  for (const cookie of [
    "",
    "fax-admin=",
    "fax-admin=9999999999999.AAAA",
    `fax-admin=${adminPassword}`,
  ]) {
    const shown = await (await fetch(admin, { headers: { cookie } })).text();
    expect(shown).toContain("Password");
    expect(shown).not.toContain(id);
    const api = await fetch(`${server.url}/api/admin`, { headers: { cookie } });
    expect([api.status, await api.text()]).toEqual([401, '{"error":{"code":"UNAUTHORIZED"}}']);
  }
  const page = await (await browser.newContext()).newPage();
  await page.goto(admin);
  await page.fill("#password", `${adminPassword}!`);
  await page.press("#password", "Enter");
  await sees(page, "text=That is not the password.");
  expect(await page.context().cookies()).toEqual([]);
});

test("a page whose sign-in is over runs nothing again", async () => {
  const id = await sendFax(app, server, { at: "mail", how: 404 });
  await jobIn(app, id, "failed", 1);
  const page = await signedIn();
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  await page.context().clearCookies();
  await page.locator(`[data-mail="${id}"]`).getByRole("button").click();
  await sees(page, "text=You are not signed in any more.");
  expect(await jobOf(app, id)).toMatchObject({ status: "failed", run: 1 });
  // A ticket that is a day old, and rightly signed for then.
  const { ticket } = await import("../../examples/fax-inbox/lib/password.ts");
  const old = `fax-admin=${ticket(adminPassword, Date.now() - 1)}`;
  expect((await fetch(`${server.url}/api/admin`, { headers: { cookie: old } })).status).toBe(401);
  const good = `fax-admin=${ticket(adminPassword)}`;
  expect((await fetch(`${server.url}/api/admin`, { headers: { cookie: good } })).status).toBe(200);
});

test("signing out is for good", async () => {
  const page = await signedIn();
  await page.click("text=Sign out");
  await sees(page, "#password");
  expect(await page.context().cookies()).toEqual([]);
  await page.reload();
  await sees(page, "#password");
});
