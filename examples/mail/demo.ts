/**
 * The demo's director: sets the scene, lets happen what goes wrong, waits until every job has ended,
 * and compares everything with the plan. The exit code is 0 only if every expectation held.
 */
import { describeError } from "leasehold";
import { Cleanup } from "./demo/cleanup.ts";
import { Interrupted, Limits } from "./demo/limits.ts";
import { type DemoOptions, readOptions, usage } from "./demo/options.ts";
import { allEnded, listJobs } from "./demo/queue.ts";
import { reportRows } from "./demo/rows.ts";
import { type Scene, setUp } from "./demo/scene.ts";
import { stageKill, stageRights, stageStop } from "./demo/stagings.ts";
import { judge, type Victims } from "./demo/verdict.ts";
import { createReport, type Report } from "./report.ts";
import { shortenedText, shortenedTiming } from "./timing.ts";

const report = createReport();
process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    const options = readOptions(args);
    if (options === "help") {
      report.note(usage);
      return 0;
    }
    if (process.platform === "win32") throw new Error("Windows has no SIGSTOP: run it in WSL.");
    return await run(options);
  } catch (error) {
    report.note(`\n${describeError(error).message}`);
    return error instanceof Interrupted ? 130 : 1;
  }
}

/** One whole run, whatever becomes of it cleaned up; 0 if every expectation held. */
async function run(options: DemoOptions): Promise<number> {
  const cleanup = new Cleanup();
  const limits = new Limits(60_000 + options.leaseMs * 10 + options.messages * 500);
  introduce(options, report);
  const settingUp = setUp(options, report, cleanup);
  try {
    const scene = await limits.of(settingUp);
    const victims = await limits.of(play(scene)).catch(async (error: unknown) => {
      if (!(error instanceof Interrupted)) await showState(scene);
      throw error;
    });
    return (await limits.of(conclude(scene, victims))) ? 0 : 1;
  } finally {
    limits.cleaning();
    await settingUp.catch(() => {}); // what is half up by now could not be taken down whole
    for (const failure of await cleanup.run())
      report.note(`Cleaning up: ${describeError(failure).message}`);
  }
}

function introduce({ messages, leaseMs }: DemoOptions, { heading, note }: Report): void {
  heading(`Faxes by e-mail: ${messages} messages`);
  note(
    process.env.DATABASE_URL
      ? "Database: the server of DATABASE_URL, in schemas of its own."
      : "Database: PGlite, which starts in this process now; the workers call it over a socket.",
  );
  note("Shortened, so that a run takes seconds:");
  for (const line of shortenedText(shortenedTiming(leaseMs))) note(`  ${line}`);
}

/** All that happens happens at once; done when each job has ended and each staging is over. */
async function play(scene: Scene): Promise<Victims> {
  const { crew, database, plan } = scene;
  report.heading("What happens");
  const [killed, stopped] = await Promise.race([
    crew.trouble,
    Promise.all([
      stageKill(scene),
      stageStop(scene),
      stageRights(scene),
      announce(scene),
      allEnded(database.leasehold, plan.length),
    ]),
  ]);
  return { killed, stopped };
}

/** Has the provider announce its messages to the webhook. */
async function announce({ control, webhook, received, say }: Scene): Promise<void> {
  const announcements = await control.deliver(webhook);
  const jobs = received.filter(({ outcome }) => outcome === "created").length;
  say("", `${announcements} announcements came in, ${jobs} jobs were made`);
}

async function conclude(scene: Scene, victims: Victims): Promise<boolean> {
  await scene.crew.dismiss();
  const { rows, checks } = await judge(scene, victims);
  report.heading("What became of each message");
  report.table(rows);
  report.heading("What must hold");
  const held = report.checks(checks);
  report.note(held ? "\nEvery expectation held." : "\nNot every expectation held.");
  return held;
}

/** How far it came, for whoever looks into a run that failed. */
async function showState({ plan, database, journal }: Scene): Promise<void> {
  report.heading("How far it came");
  report.table(reportRows(plan, await listJobs(database.leasehold), journal));
}
