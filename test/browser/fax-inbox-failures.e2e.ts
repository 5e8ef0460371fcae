import pg from "pg";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { launchChromium } from "./support/chromium.ts";
import { isThereOnce } from "./support/fax-attachments.ts";
import {
  announce,
  cardOf,
  cron,
  eventsOf,
  type FaxInbox,
  inboxOf,
  jobIn,
  jobOf,
  later,
  openFaxInbox,
  sendFax,
  waitOf,
} from "./support/fax-inbox.ts";
import type { NextServer } from "./support/next-server.ts";
import { sees } from "./support/sees.ts";
import { until } from "./support/until.ts";

let app: FaxInbox;
let server: NextServer;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  app = await openFaxInbox();
  server = await app.serve();
  browser = await launchChromium();
  page = await inboxOf(browser, server);
});
afterEach(() => app.outside.faults.clear());
afterAll(async () => {
  await browser?.close();
  await server?.kill();
  await app?.stop();
});

/** A wait of so many seconds, and up to 5 % more. */
async function waits(id: string, seconds: number): Promise<void> {
  const waited = await waitOf(app, id);
  expect(waited).toBeGreaterThanOrEqual(seconds);
  expect(waited).toBeLessThanOrEqual(seconds * 1.05);
}

/** When the card of a mail says that it goes on is when its job does. */
async function saysWhen(id: string): Promise<void> {
  const { run_after } = await jobOf(app, id);
  const said = await page.getAttribute(`[data-mail="${id}"] .status time`, "datetime");
  expect(new Date(said ?? "").getTime()).toBe(run_after.getTime());
}

/** It is fetched in the end, after so many attempts that count and so many claims. */
async function isDone(id: string, attempts: number, generation: number): Promise<void> {
  await cardOf(page, id, "done");
  expect(await jobOf(app, id)).toMatchObject({ status: "completed", attempts, generation });
  await isThereOnce(app, id);
}

test("503 is tried again after a minute, and then five", async () => {
  const id = await sendFax(app, server, { at: "mail", how: 503, times: 2 });
  await jobIn(app, id, "queued", 1);
  await waits(id, 1);
  await later(app, server, id);
  const card = await cardOf(page, id, "retrying");
  expect(card).toContain("Not fetched yet: the mail provider was out of order. Tried again at");
  await waits(id, 5);
  await sees(page, `[data-mail="${id}"] >> text=attempt 3 of 5`);
  await saysWhen(id);
  // Nobody hurries it now: the cron comes, until its time has.
  await until(async () => (await cron(server)).processed > 0, "the cron finds it due", 60_000);
  await isDone(id, 3, 3);
  expect(await eventsOf(app, id)).toEqual(["failed HTTP_503", "run_now", "failed HTTP_503"]);
});

test("429 is tried again when the provider says", async () => {
  const id = await sendFax(app, server, { at: "mail", how: 429, retryAfterSeconds: 33 });
  const card = await cardOf(page, id, "retrying");
  expect(card).toContain("the mail provider asked us to wait. Tried again at");
  await saysWhen(id);
  await waits(id, 33);
  await later(app, server, id);
  await isDone(id, 2, 2);
  expect(await eventsOf(app, id)).toEqual(["failed HTTP_429", "run_now"]);
});

test("404 fails at once", async () => {
  const id = await sendFax(app, server, { at: "mail", how: 404 });
  const card = await cardOf(page, id, "failed");
  expect(card).toContain(
    "the mail provider does not have it. Given up after one attempt (HTTP_404).",
  );
  expect(await jobOf(app, id)).toMatchObject({ status: "failed", attempts: 1, generation: 1 });
  expect(await eventsOf(app, id)).toEqual(["failed HTTP_404"]);
  expect(await cron(server)).toMatchObject({ processed: 0 });
});

test("401 gives the job back for a quarter of an hour, the attempt not counted", async () => {
  const id = await sendFax(app, server, { at: "mail", how: 401 });
  const card = await cardOf(page, id, "resting");
  expect(card).toContain("Put aside: the mail provider refused our key. Goes on at");
  await saysWhen(id);
  expect(await waitOf(app, id)).toBeCloseTo(15, 3);
  expect(await jobOf(app, id)).toMatchObject({ status: "queued", attempts: 0, releases: 1 });
  await later(app, server, id);
  await isDone(id, 1, 2);
  expect(await eventsOf(app, id)).toEqual(["released HTTP_401", "run_now"]);
});

test("five attempts, 1, 5, 15 and 60 minutes apart, and then it has failed", async () => {
  const id = await sendFax(app, server, { at: "mail", how: 503, times: 5 });
  for (const [i, seconds] of [1, 5, 15, 60].entries()) {
    await jobIn(app, id, "queued", i + 1);
    await waits(id, seconds);
    await later(app, server, id);
  }
  const card = await cardOf(page, id, "failed");
  expect(card).toContain(
    "the mail provider was out of order. Given up after 5 attempts (HTTP_503).",
  );
  expect(await jobOf(app, id)).toMatchObject({ status: "failed", attempts: 5, generation: 5 });
  expect((await eventsOf(app, id)).filter((event) => event !== "run_now")).toEqual(
    Array(5).fill("failed HTTP_503"),
  );
  expect(await cron(server)).toMatchObject({ processed: 0 });
});

test.each([
  { how: 503, code: "STORAGE_503", words: "the storage was out of order" },
  { how: 500, code: "STORAGE_500", words: "the storage was out of order" },
  { how: 429, code: "STORAGE_429", words: "the storage asked us to wait" },
  { how: 404, code: "STORAGE_404", words: "the storage does not have it" },
  { how: "reset", code: "ECONNRESET", words: "the connection broke" },
  { how: "hang", code: "ETIMEDOUT", words: "there was no answer in time" },
] as const)("a storage that says $how is tried again, behind what is stored", async (each) => {
  const { how, code, words } = each;
  // The first attachment is stored by then.
  const id = await sendFax(app, server, { at: "storage", how, on: "/1" });
  expect(await cardOf(page, id, "retrying")).toContain(`Not fetched yet: ${words}.`);
  await waits(id, 1);
  expect(await eventsOf(app, id)).toEqual([`failed ${code}`]);
  await later(app, server, id);
  await isDone(id, 2, 2);
  const { writes } = app.outside.storage.objects;
  expect(writes.get(`faxes/${id}/0.pdf`)).toBe(1);
});

test.each([
  { how: "refused", code: "STORAGE_403" }, // as Supabase Storage says it: HTTP 400, and 403 in the body
  { how: 401, code: "STORAGE_401" },
] as const)("a storage that refuses the key ($code) gives the job back", async ({ how, code }) => {
  const id = await sendFax(app, server, { at: "storage", how });
  expect(await cardOf(page, id, "resting")).toContain("Put aside: the storage refused our key.");
  expect(await waitOf(app, id)).toBeCloseTo(15, 3);
  expect(await jobOf(app, id)).toMatchObject({ status: "queued", attempts: 0, releases: 1 });
  await later(app, server, id);
  await isDone(id, 1, 2);
  expect(await eventsOf(app, id)).toEqual([`released ${code}`, "run_now"]);
});

test("a storage that asks to wait is given the time that it asks for", async () => {
  const id = await sendFax(app, server, { at: "storage", how: 429, retryAfterSeconds: 44 });
  await cardOf(page, id, "retrying");
  await waits(id, 44);
  await later(app, server, id);
  await isDone(id, 2, 2);
});

test("a mail that takes longer than the budget is given back and goes on behind what is stored", async () => {
  // The provider holds it back in the middle of its second attachment, the first time.
  expect((await announce(app, server, "mail-0004")).ok).toBe(true);
  await cardOf(page, "mail-0004", "fetching");
  await until(async () => (await eventsOf(app, "mail-0004")).length > 0, "the end of the budget");
  expect(await eventsOf(app, "mail-0004")).toEqual(["released BUDGET_EXCEEDED"]);
  expect(await jobOf(app, "mail-0004")).toMatchObject({ attempts: 0, releases: 1 });
  await cron(server);
  await isDone("mail-0004", 1, 2);
  expect(app.outside.storage.objects.writes.get("faxes/mail-0004/0.pdf")).toBe(1);
});

test("a mail that breaks off in the middle of an attachment does not pass for a whole one", async () => {
  // Of 7 MB, so that its first attachment is parsed before the other half is missed.
  const id = "mail-0012";
  app.outside.faults.plan({ at: "mail", about: id, how: "cut" });
  expect((await announce(app, server, id)).ok).toBe(true);
  expect(await cardOf(page, id, "retrying")).toContain("Not fetched yet: the connection broke.");
  await waits(id, 1);
  await later(app, server, id);
  await isDone(id, 2, 2);
  expect(app.outside.storage.objects.writes.get(`faxes/${id}/0.pdf`)).toBe(1);
});

test("a provider that does not answer is tried again", async () => {
  const id = await sendFax(app, server, { at: "mail", how: "hang" });
  expect(await cardOf(page, id, "retrying")).toContain("there was no answer in time");
  expect(await eventsOf(app, id)).toEqual(["failed ETIMEDOUT"]);
  await later(app, server, id);
  await isDone(id, 2, 2);
});

test("a connection to the database that breaks in the last transaction is tried again", async () => {
  const other = new pg.Client({ connectionString: app.database.url });
  await other.connect();
  await other.query("begin; lock table fax.attachments in share mode");
  const id = await sendFax(app, server);
  const waiting = "select pid from pg_stat_activity where wait_event_type = 'Lock'";
  const pid = await until(
    async () => (await app.database.query(waiting))[0]?.pid,
    "the last transaction waits",
  );
  await app.database.query("select pg_terminate_backend($1)", [pid]);
  await other.end();
  await jobIn(app, id, "queued", 1);
  expect((await eventsOf(app, id))[0]).toMatch(/^failed (57P01|ECONNRESET|ERROR)$/);
  await waits(id, 1);
  await later(app, server, id);
  await isDone(id, 2, 2);
});
