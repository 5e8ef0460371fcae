import pg from "pg";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launchChromium } from "./support/chromium.ts";
import { isThereOnce } from "./support/fax-attachments.ts";
import {
  cardOf,
  cron,
  eventsOf,
  type FaxInbox,
  inboxOf,
  jobOf,
  openFaxInbox,
  sendFax,
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
  server = await app.serve({ TIME_SCALE: "30" });
  browser = await launchChromium();
  page = await inboxOf(browser, server);
});
afterAll(async () => {
  await browser?.close();
  await server?.kill();
  await app?.stop();
});

const unrecorded = "the outcome could not be recorded; the job's lease brings it back";

/** How often the server has said so. */
function timesUnrecorded(): number {
  return server.output().split(unrecorded).length - 1;
}

/**
 * The database stays away until the function has given up recording what became of the job, and comes
 * back: then the lease brings the job back, to whichever drain comes next.
 */
async function withoutDatabase(meanwhile: () => void = () => undefined): Promise<void> {
  const before = timesUnrecorded();
  await app.database.crash();
  meanwhile();
  await sees(page, "text=No answer from the server. This is the last we know");
  await until(() => timesUnrecorded() > before, "nobody could record it");
  await app.database.startAgain();
}

/** The second run has left one result. */
async function isDoneByTheSecond(id: string): Promise<void> {
  await sees(page, "text=No answer from the server", { state: "detached" });
  await cardOf(page, id, "fetching");
  await until(async () => (await cron(server)).processed > 0, "the lease is over");
  await cardOf(page, id, "done");
  await isThereOnce(app, id);
  expect(await jobOf(app, id)).toMatchObject({ status: "completed", attempts: 2, generation: 2 });
  // What a drain claims lasts no longer than its budget and reserve, which is less than the lease.
  expect(await eventsOf(app, id)).toEqual(["reaped TIMEOUT"]);
}

test("a database that goes between the work and its completion", async () => {
  const { faults, storage } = app.outside;
  faults.plan({ at: "storage", about: "/2.png", how: "held" });
  const id = await sendFax(app, server);
  await until(() => faults.held > 0, "the last attachment is stored, and its answer kept back");
  const other = new pg.Client({ connectionString: app.database.url });
  other.on("error", () => undefined);
  await other.connect();
  await other.query(`begin; select from fax.mails where id = '${id}' for no key update`);
  faults.release();
  const waiting = "select from pg_stat_activity where wait_event_type = 'Lock'";
  await until(
    async () => (await app.database.query(waiting)).length > 0,
    "the rows are written, in the transaction that is about to complete the job",
  );
  await withoutDatabase();
  await isDoneByTheSecond(id);
  // The steps were saved, so nothing was stored again.
  const writes = [...storage.objects.writes].filter(([name]) => name.includes(id));
  expect(writes.map(([, times]) => times)).toEqual([1, 1, 1]);
});

test("a database that goes between an upload and the record of it", async () => {
  const { faults, storage } = app.outside;
  faults.plan({ at: "storage", about: "/2.png", how: "held" });
  const id = await sendFax(app, server);
  await until(() => faults.held > 0, "the last attachment is stored, and its answer kept back");
  await withoutDatabase(() => faults.release());
  await isDoneByTheSecond(id);
  // Stored twice under the path that was fixed in advance, which leaves one.
  expect(storage.objects.writes.get(`faxes/${id}/2.png`)).toBe(2);
});
