import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { Fault } from "../../../examples/fax-inbox/outside/faults.ts";
import { type Outside, startOutside } from "../../../examples/fax-inbox/outside/server.ts";
import { type AppDatabase, startDatabase } from "./database.ts";
import { installApp } from "./next-app.ts";
import { type NextServer, serve } from "./next-server.ts";
import { onceInRun } from "./once.ts";
import { sees } from "./sees.ts";
import { until } from "./until.ts";

const cronSecret = "the secret of the cron";

export const adminPassword = "of the admin";

/** The example as it runs for a test: its own database, and a provider and a storage that the test rules. */
export interface FaxInbox {
  readonly database: AppDatabase;
  readonly outside: Outside;
  /** Starts a server, in which a minute is a second unless `env` says otherwise. */
  serve(env?: Record<string, string>): Promise<NextServer>;
  stop(): Promise<void>;
}

export async function openFaxInbox(): Promise<FaxInbox> {
  const folder = await builtFolder();
  const database = await startDatabase(folder);
  const objects = mkdtempSync(join(process.env.RIG_FOLDER ?? "", "objects-"));
  const outside = await startOutside({
    webhookSecret: "of the webhook",
    storageKey: "of the storage",
    folder: objects,
  });
  const own = {
    ...outside.env,
    DATABASE_URL: database.url,
    CRON_SECRET: cronSecret,
    ADMIN_PASSWORD: adminPassword,
    TIME_SCALE: "60",
  };
  return {
    database,
    outside,
    serve: (env) => serve(folder, { env: { ...own, ...env } }),
    async stop() {
      await outside.close();
      await database.stop();
      rmSync(objects, { recursive: true });
    },
  };
}

/** Installed and built once in a run of the tests, for all files; the run removes it. */
function builtFolder(): Promise<string> {
  return onceInRun("built-fax-inbox", async () => {
    const app = await installApp("examples/fax-inbox");
    await app.build();
    return app.folder;
  });
}

/** Has the provider announce the mail; answers what the webhook answered. */
export function announce(app: FaxInbox, server: NextServer, id: string): Promise<Response> {
  return app.outside.mail.announce(id, `${server.url}/api/mail`);
}

/** A fault that a new fax meets. */
export interface FaxFault extends Omit<Fault, "about"> {
  /** What follows its id in the path: "/1" for its second attachment at the storage. */
  readonly on?: string;
}

/** Sends a fax that has not been sent before; answers its id. */
export async function sendFax(
  app: FaxInbox,
  server: NextServer,
  ...faults: readonly FaxFault[]
): Promise<string> {
  const [known] = await app.database.query("select count(*)::int as count from fax.mails");
  const id = app.outside.mail.ordinary[known?.count]?.id ?? "";
  app.outside.faults.plan(...faults.map(({ on = "", ...fault }) => ({ ...fault, about: id + on })));
  const answer = await announce(app, server, id);
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}\n${server.output()}`);
  return id;
}

/** What the platform's cron does; answers the report. */
export async function cron(server: NextServer): Promise<{ readonly processed: number }> {
  const headers = { authorization: `Bearer ${cronSecret}` };
  const answer = await fetch(`${server.url}/api/leasehold/drain?wait=1`, { headers });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}\n${server.output()}`);
  return answer.json() as Promise<{ readonly processed: number }>;
}

/** The inbox, in a browser of its own. */
export async function inboxOf(browser: Browser, server: NextServer): Promise<Page> {
  const page = await (await browser.newContext({ locale: "en-GB" })).newPage();
  await page.goto(server.url);
  return page;
}

/** Waits until the inbox shows the mail in this state; answers the text of its card. */
export async function cardOf(page: Page, id: string, state: string): Promise<string> {
  const card = await sees(page, `[data-mail="${id}"][data-state="${state}"]`);
  return (await card.textContent()) ?? "";
}

/** The job of a mail. Throws where there is not exactly one. */
// biome-ignore lint/suspicious/noExplicitAny: a row.
export async function jobOf(app: FaxInbox, id: string): Promise<Record<string, any>> {
  const jobs = await app.database.query("select * from leasehold.jobs where key = $1", [id]);
  if (jobs.length !== 1 || jobs[0] === undefined) throw new Error(`${jobs.length} jobs of ${id}`);
  return jobs[0];
}

/** The job of a mail, once it has the status and has been claimed so often. */
export function jobIn(app: FaxInbox, id: string, status: string, generation: number) {
  return until(async () => {
    const job = await jobOf(app, id);
    return job.status === status && job.generation === generation && job;
  }, `the job of ${id} is ${status} after ${generation} claims`);
}

/** What did not go straight with the job of a mail: "failed HTTP_503", the oldest first. */
export async function eventsOf(app: FaxInbox, id: string): Promise<string[]> {
  const rows = await app.database.query(
    `select concat_ws(' ', e.event, e.code) as event from leasehold.job_events e
     join leasehold.jobs j on j.id = e.job_id where j.key = $1 order by e.id`,
    [id],
  );
  return rows.map(({ event }) => event);
}

/** How long the job of a mail was told to wait by its last event, in seconds. */
export async function waitOf(app: FaxInbox, id: string): Promise<number> {
  const [row] = await app.database.query(
    `select extract(epoch from j.run_after - e.at)::float8 as seconds from leasehold.job_events e
     join leasehold.jobs j on j.id = e.job_id where j.key = $1 order by e.id desc limit 1`,
    [id],
  );
  return row?.seconds;
}

/** Lets the time go by for which the job waits, and has the cron come. */
export async function later(app: FaxInbox, server: NextServer, id: string): Promise<void> {
  const { id: jobId } = await jobOf(app, id);
  await app.database.query("select leasehold.run_now($1)", [jobId]);
  await cron(server);
}
