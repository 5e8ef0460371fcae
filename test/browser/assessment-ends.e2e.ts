import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type Assessment,
  cardOf,
  openAssessment,
  pageOf,
  request,
  showsBalance,
  submit,
  submitOn,
} from "./support/assessment.ts";
import { launchChromium } from "./support/chromium.ts";
import type { NextServer } from "./support/next-server.ts";
import { creditsOf, entriesOf, grant, jobsOf, violations } from "./support/points.ts";
import { sees } from "./support/sees.ts";
import { until } from "./support/until.ts";

const notCharged = "The assessment failed. You were not charged: your point is back.";

const lease = { ASSESS_LEASE: "3s" };

let app: Assessment;
let server: NextServer;
let browser: Browser;

beforeAll(async () => {
  app = await openAssessment();
});
beforeEach(async () => {
  browser = await launchChromium();
});
afterEach(async () => {
  app.outside.release();
  await browser.close();
  await server?.kill();
});
afterAll(async () => {
  expect(await violations(app.database)).toEqual([]);
  await app.stop();
});

/** Answers the id of a job of `user` that is in the middle of its work. */
async function inTheMiddle(user: string): Promise<string> {
  app.outside.hold();
  const { id } = (await (await submit(server, user)).json()) as { id: string };
  await until(async () => (await only(user)).progress, "its progress");
  return id;
}

async function only(user: string) {
  const jobs = await jobsOf(app.database, user);
  expect(jobs).toHaveLength(1);
  return jobs[0] ?? {};
}

describe("the process is killed in the middle", () => {
  test("the page of the next one tells the truth within the lease, and a new submit completes", async () => {
    await grant(app.database, "ann", 1);
    server = await app.serve(lease);
    const page = await pageOf(browser, server, "ann");
    app.outside.hold();
    await submitOn(page, "1 Crash Court");
    await sees(page, "text=Asking about flood");
    // The server's part is there anew: where its request breaks off, Next leaves the page for the browser's own.
    await showsBalance(page, 0, 1);
    await server.kill();
    const killedAt = performance.now();
    await sees(page, "text=No connection");

    app.outside.release();
    server = await app.serve(lease);
    const startedAt = performance.now();
    await page.goto(server.url);
    expect(await cardOf(page, "failed")).toContain(notCharged);
    // The lease that was left at the kill, then one poll: its pause is 2 s at most so early.
    expect(performance.now() - Math.max(startedAt, killedAt + 3_000)).toBeLessThan(5_000);
    await showsBalance(page, 1, 0);
    expect(await entriesOf(app.database, "ann")).toEqual(["grant", "hold", "give_back"]);

    await submitOn(page, "2 Crash Court");
    expect(await cardOf(page, "completed")).toContain("2 Crash Court");
    await showsBalance(page, 0, 0);
  });

  test("of twenty who ask at once when the lease is over, one reaps and gives back", async () => {
    await grant(app.database, "bob", 1);
    server = await app.serve(lease);
    const id = await inTheMiddle("bob");
    await server.kill();
    const over = "select 1 from leasehold.jobs where id = $1 and lease_until < clock_timestamp()";
    await until(async () => (await app.database.query(over, [id])).length, "the lease's end");
    expect(await only("bob")).toMatchObject({ status: "running", money: "held" });

    server = await app.serve(lease);
    const polls = Array.from({ length: 20 }, () => request(server, "bob", `/jobs/${id}`));
    const answers = await Promise.all((await Promise.all(polls)).map((answer) => answer.json()));
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: "failed", money: "given_back", message: notCharged });
    }
    expect(await entriesOf(app.database, "bob")).toEqual(["grant", "hold", "give_back"]);
    const events = "select code from leasehold.job_events where job_id = $1";
    expect(await app.database.query(events, [id])).toMatchObject([{ code: "LEASE_EXPIRED" }]);
  });
});

test("a model that hangs, deaf to its signal, ends with its time", async () => {
  await grant(app.database, "carol", 1);
  server = await app.serve({ MODEL_MODE: "hang", ASSESS_TIMEOUT: "2s" });
  const page = await pageOf(browser, server, "carol");
  await submitOn(page, "3 Tar Pit");
  expect(await cardOf(page, "failed")).toContain(notCharged);
  await showsBalance(page, 1, 0);
  expect(await only("carol")).toMatchObject({ last_error_code: "TIMEOUT", attempts: 1 });
  expect(await entriesOf(app.database, "carol")).toEqual(["grant", "hold", "give_back"]);
});

test("a model that fails costs nothing, and the server's log tells why", async () => {
  await grant(app.database, "dora", 1);
  server = await app.serve({ MODEL_MODE: "fail" });
  const page = await pageOf(browser, server, "dora");
  await submitOn(page, "4 Broken Way");
  expect(await cardOf(page, "failed")).toContain(notCharged);
  await showsBalance(page, 1, 0);
  expect(server.output()).toContain("the model is out of memory");
});

test("at SIGTERM the job fails and its point is back before the process ends", async () => {
  await grant(app.database, "eric", 1);
  server = await app.serve();
  await inTheMiddle("eric");
  expect(await creditsOf(app.database, "eric")).toEqual({ available: 0, held: 1 });
  server.signal("SIGTERM");
  expect(await server.exited).toBe(143);
  expect(await only("eric")).toMatchObject({ status: "failed", last_error_code: "SHUTDOWN" });
  expect(await creditsOf(app.database, "eric")).toEqual({ available: 1, held: 0 });
  expect(await entriesOf(app.database, "eric")).toEqual(["grant", "hold", "give_back"]);
});
