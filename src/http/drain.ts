import type { DrainReport } from "../drain.ts";
import { Failure, json, unauthorized } from "./answer.ts";
import type { Door } from "./door.ts";
import { bringsSecret } from "./secret.ts";

/**
 * `GET` or `POST /drain`: works through due jobs, for a cron, a webhook or `after()`. Answers 202 and
 * works on; with `?wait=1` it answers the report at the end. A client that goes away changes nothing.
 */
export async function drainJobs(door: Door, request: Request): Promise<Response> {
  const { secret, keepAlive, leasehold, drain } = door.settings;
  await requireSecret(request, secret());
  const work = () => leasehold.drain(drain);
  // On Vercel a function is frozen once it has answered: without keepAlive, the answer has to wait.
  const frozen = keepAlive === undefined && Boolean(globalThis.process?.env?.VERCEL);
  if (frozen || new URL(request.url).searchParams.get("wait") === "1") {
    return json(200, shown(await door.ask(work())));
  }
  const task = async () => {
    await door.ask(work()).catch((error: unknown) => door.tell(error));
  };
  if (keepAlive !== undefined) await keepAlive(task);
  else void task();
  return json(202, { outcome: "started" });
}

async function requireSecret(request: Request, secret: string | undefined): Promise<void> {
  if (secret === undefined) {
    throw new Failure(
      403,
      "CLOSED",
      "No secret is configured: set CRON_SECRET, or the option `secret`.",
    );
  }
  if (!(await bringsSecret(request, secret))) throw unauthorized({ "www-authenticate": "Bearer" });
}

/** The report without its error, which may name hosts or hold SQL, and without the jobs' keys. */
function shown({ error: _, jobs, ...counts }: DrainReport): object {
  const brief = jobs.map(({ id, kind, outcome, code, durationMs }) => ({
    id,
    kind,
    outcome,
    ...(code !== undefined && { code }),
    durationMs,
  }));
  return { ...counts, jobs: brief };
}
