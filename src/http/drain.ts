import { accessOf } from "../client-access.ts";
import type { DrainOptions, DrainReason, DrainReport } from "../drain.ts";
import { durationMs } from "../duration.ts";
import { Failure, json, unauthorized } from "../http-answer.ts";
import { noteDrain } from "../note-drain.ts";
import { text } from "../options.ts";
import type { Door } from "./door.ts";
import { bringsSecret, minSecretLength } from "./secret.ts";

/** As long as the database keeps a second call to itself, and some more. */
const maxLingerMs = 10_000;

/**
 * `GET` or `POST /drain`: works through due jobs, for a cron, a webhook or the database. Answers 202 and
 * works on; with `?wait=1` it answers the report at the end. A client that goes away changes nothing.
 * A process runs one such drain at a time: who asks meanwhile joins the next one. The last report of each
 * `?trigger=` is kept for the overview.
 */
export async function drainJobs(door: Door, request: Request): Promise<Response> {
  const { secret, keepAlive, leasehold } = door.settings;
  await requireSecret(request, secret());
  const { searchParams } = new URL(request.url);
  const options = { ...door.settings.drain, ...lingering(searchParams.get("linger")) };
  const drains = accessOf(leasehold)?.drains;
  const trigger = triggerOf(searchParams.get("trigger"));
  const work = async () => {
    const report = await door.ask(drains?.run(options) ?? leasehold.drain(options));
    if (report !== undefined) {
      // What can't be noted is told to the log: the drain is done all the same.
      const noting = noteDrain(leasehold.database, trigger, report);
      await noting.catch((error: unknown) => door.tell(error));
    }
    return report;
  };
  // On Vercel a function is frozen once it has answered: without keepAlive, the answer has to wait.
  const frozen = keepAlive === undefined && Boolean(globalThis.process?.env?.VERCEL);
  if (frozen || searchParams.get("wait") === "1") return json(200, shown((await work()) ?? joined));
  const task = async () => {
    await work().catch((error: unknown) => door.tell(error));
  };
  if (keepAlive !== undefined) await keepAlive(task);
  else void task();
  return json(202, { outcome: "started" });
}

/** Under which name the overview shows the last of such drains. */
function triggerOf(given: string | null): string {
  return given === null ? "http" : inQuery(() => text("trigger", given, { maxBytes: 100 }));
}

/** What a caller may ask for beside the bounds that the server has set. */
function lingering(given: string | null): Pick<DrainOptions, "linger"> {
  if (given === null) return {};
  return { linger: inQuery(() => durationMs("linger", given, { max: maxLingerMs })) };
}

/** What `read` makes of a parameter; where it throws, 400 says why. */
function inQuery<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Failure(400, "BAD_QUERY", String((error as Error).message));
  }
}

/** For a caller whose drain was also another's, which has the report: so that sums are right. */
const joined: Shown = {
  ...{ reason: "joined", processed: 0, completed: 0, failed: 0, retried: 0, released: 0 },
  ...{ cancelled: 0, lost: 0, unrecorded: 0, durationMs: 0, jobs: [] },
};

async function requireSecret(request: Request, secret: string | undefined): Promise<void> {
  if (secret === undefined) {
    throw new Failure(
      403,
      "CLOSED",
      `No secret is configured: set CRON_SECRET, or the option \`secret\`, to at least ${minSecretLength} characters.`,
    );
  }
  if (!(await bringsSecret(request, secret))) throw unauthorized({ "www-authenticate": "Bearer" });
}

type Shown = Omit<DrainReport, "reason"> & { reason: DrainReason | "joined" };

/** The report without its error, which may name hosts or hold SQL, and without the jobs' keys. */
function shown({ error: _, jobs, ...counts }: Shown): object {
  const brief = jobs.map(({ id, kind, outcome, code, durationMs }) => ({
    id,
    kind,
    outcome,
    ...(code !== undefined && { code }),
    durationMs,
  }));
  return { ...counts, jobs: brief };
}
