import { buffer } from "node:stream/consumers";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sha256 } from "../../examples/mail/messages.ts";
import { launchChromium } from "./support/chromium.ts";
import {
  attachmentsOf,
  downloaded,
  isThereOnce,
  rowsOf,
  storedOf,
} from "./support/fax-attachments.ts";
import {
  announce,
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

let app: FaxInbox;
let server: NextServer;
let browser: Browser;

beforeAll(async () => {
  app = await openFaxInbox();
  server = await app.serve();
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await server?.kill();
  await app?.stop();
});

test("a fax appears in an inbox that is open, and its attachments are downloaded byte for byte", async () => {
  const page = await inboxOf(browser, server);
  await sees(page, "text=No fax has come yet.");
  const id = await sendFax(app, server);
  expect(await cardOf(page, id, "done")).toContain(id);
  await sees(page, "text=One fax.");
  const expected = await attachmentsOf(id);
  const links = page.locator(`[data-mail="${id}"] .files a`);
  expect(await links.count()).toBe(expected.length);
  for (const [i, attachment] of expected.entries()) {
    const started = page.waitForEvent("download");
    await links.nth(i).click();
    const download = await started;
    expect(download.suggestedFilename()).toBe(attachment.filename);
    expect(sha256(await buffer(await download.createReadStream()))).toBe(attachment.sha256);
  }
  await isThereOnce(app, id);
  expect(await jobOf(app, id)).toMatchObject({ status: "completed", attempts: 1, generation: 1 });
});

test("a mail that is announced again, at once and by many, is one mail and one job", async () => {
  const id = app.outside.mail.ordinary[100]?.id ?? "";
  const answers = await Promise.all(Array.from({ length: 8 }, () => announce(app, server, id)));
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
  const said = await Promise.all(answers.map((answer) => answer.text()));
  expect(said.filter((text) => text === '{"outcome":"stored"}')).toHaveLength(1);
  expect(said.filter((text) => text === '{"outcome":"known"}')).toHaveLength(7);
  const page = await inboxOf(browser, server);
  await cardOf(page, id, "done");
  expect(await (await announce(app, server, id)).json()).toEqual({ outcome: "known" });
  await cron(server);
  expect(await page.locator(`[data-mail="${id}"]`).count()).toBe(1);
  expect(await jobOf(app, id)).toMatchObject({ status: "completed", generation: 1 });
  await isThereOnce(app, id);
});

test("a mail that is announced again months later, when its job is forgotten, begins nothing", async () => {
  const id = await sendFax(app, server);
  const page = await inboxOf(browser, server);
  await cardOf(page, id, "done");
  await app.database.query("delete from leasehold.once");
  await app.database.query("select leasehold.remove(id) from leasehold.jobs where key = $1", [id]);
  expect(await (await announce(app, server, id)).json()).toEqual({ outcome: "known" });
  expect(await cron(server)).toMatchObject({ processed: 0 });
  await expect(jobOf(app, id)).rejects.toThrow("0 jobs");
  await page.reload();
  await cardOf(page, id, "done");
  await isThereOnce(app, id);
});

test("the mail and its job are stored together or not at all", async () => {
  const id = app.outside.mail.ordinary[101]?.id ?? "";
  await app.database.query(
    "alter table fax.mails add constraint none check (id <> '' and false) not valid",
  );
  expect((await announce(app, server, id)).status).toBe(500);
  await app.database.query("alter table fax.mails drop constraint none");
  await expect(jobOf(app, id)).rejects.toThrow("0 jobs");
  expect(await (await announce(app, server, id)).json()).toEqual({ outcome: "stored" });
  await cardOf(await inboxOf(browser, server), id, "done");
});

test("names that attack the storage or that it refuses are kept as names alone", async () => {
  const page = await inboxOf(browser, server);
  for (const id of ["mail-0002", "mail-0013", "mail-0011", "mail-0012"]) {
    expect((await announce(app, server, id)).ok).toBe(true);
    await cardOf(page, id, "done");
    await isThereOnce(app, id);
    for (const { index, sha256 } of await attachmentsOf(id)) {
      expect((await downloaded(server, id, index)).sha256).toBe(sha256);
    }
  }
  expect([...(await storedOf(app, "mail-0013")).keys()]).toEqual([
    ...[0, 1, 2, 3, 4].map((i) => `faxes/mail-0013/${i}.pdf`),
    "faxes/mail-0013/5",
    "faxes/mail-0013/6",
  ]);
  expect((await rowsOf(app, "mail-0013"))[0]?.filename).toBe("../../../../tmp/escape.pdf");
  expect(await cardOf(page, "mail-0002", "done")).toContain("受信ファックス.pdf");
  const { answer } = await downloaded(server, "mail-0002", 0);
  expect(answer.headers.get("content-disposition")).toBe(
    `attachment; filename*=UTF-8''${encodeURIComponent("受信ファックス.pdf")}`,
  );
  expect(answer.headers.get("content-security-policy")).toContain("sandbox");
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
});

test("an attachment that is not there, or that the storage does not give, is no broken file", async () => {
  const id = await sendFax(app, server);
  await cardOf(await inboxOf(browser, server), id, "done");
  for (const place of [`${id}/99`, `${id}/-1`, `${id}/..%2f..`, "mail-9999/0", "%27%20or%201/0"]) {
    expect((await fetch(`${server.url}/attachments/${place}`)).status).toBe(404);
  }
  app.outside.faults.plan({ at: "storage", about: id, how: 503 });
  expect((await fetch(`${server.url}/attachments/${id}/0`)).status).toBe(502);
  expect(await eventsOf(app, id)).toEqual([]);
});
