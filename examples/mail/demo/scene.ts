import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLeasehold } from "leasehold";
import { defineFetchEmail } from "../jobs.ts";
import { providerControl } from "../provider/client.ts";
import type { Report } from "../report.ts";
import { planMessages } from "../scenarios.ts";
import { shortenedTiming, type Timing } from "../timing.ts";
import type { Cleanup } from "./cleanup.ts";
import { Crew } from "./crew.ts";
import { type DemoDatabase, openDatabase } from "./database.ts";
import { openInbox, type Received } from "./inbox.ts";
import { Journal } from "./journal.ts";
import { createNarrator } from "./narrator.ts";
import type { DemoOptions } from "./options.ts";
import { startProvider } from "./processes.ts";
import type { Stage } from "./stagings.ts";

/** One is killed, one stopped, one waits for the slow message; with four there is always one free. */
const workers = 4;

/** All that takes part in the demo, up and running. */
export interface Scene extends Stage {
  readonly timing: Timing;
  readonly database: DemoDatabase;
  /** The folder that the attachments go to. */
  readonly storage: string;
  /** The webhook's address, and what came in there. */
  readonly webhook: string;
  readonly received: readonly Received[];
}

/** Brings up the database, the provider, the webhook and the workers; what must end is in cleanup. */
export async function setUp(
  options: DemoOptions,
  report: Report,
  cleanup: Cleanup,
): Promise<Scene> {
  const plan = planMessages(options.messages);
  const timing = shortenedTiming(options.leaseMs);
  const narrator = createNarrator(report, plan);
  const journal = new Journal(narrator.entry);
  const crew = new Crew(journal);
  const folder = await temporaryFolder(options, report, cleanup);
  cleanup.add(() => crew.killAll());
  // The processes load while the database starts, which takes PGlite some seconds.
  for (let i = 0; i < workers; i++) crew.hire();
  const starting = startProvider(plan.length, timing.slowMs, cleanup);
  starting.catch(() => {}); // awaited below, once the database is open or has failed to
  const database = await openDatabase(process.env.DATABASE_URL, folder, cleanup);
  const provider = await starting;
  const received: Received[] = [];
  const onReceived = (each: Received): void => {
    received.push(each);
    narrator.received(each);
  };
  const client = createLeasehold({ database: database.leasehold });
  const job = defineFetchEmail(timing);
  const webhook = await openInbox(client, job, database.mailSchema, onReceived);
  cleanup.add(() => webhook.close());
  const storage = join(folder, "storage");
  // Once more, and so before the rest: at work, they must not lose their database under them.
  cleanup.add(() => crew.killAll());
  crew.begin({ provider: provider.url, storage, timing, database: database.forWorkers });
  const control = providerControl(provider.url);
  const parts = { plan, timing, database, storage, control, crew, journal, received };
  return { ...parts, webhook: webhook.url, say: narrator.demo };
}

async function temporaryFolder(
  { keep }: DemoOptions,
  report: Report,
  cleanup: Cleanup,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-mail-"));
  cleanup.add(async () => {
    if (keep) report.note(`\nThe attachments are in ${join(folder, "storage")}`);
    else await rm(folder, { recursive: true, force: true });
  });
  return folder;
}
