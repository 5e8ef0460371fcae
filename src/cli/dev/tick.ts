import type { Database } from "../../database.ts";
import { describeError } from "../../describe-error.ts";
import { printNote } from "../output.ts";
import { oneLine } from "../text-width.ts";

/** How long the application may take to answer. */
const answerWithinMs = 60_000;

export interface TickOptions {
  readonly everyMs: number;
  /** Only `call` of it is used. */
  readonly database: Pick<Database, "call">;
  /** What a cron would ask for, with `secret` as bearer. */
  readonly url: string | undefined;
  readonly secret: string;
}

/**
 * What a cron does in production, scaled down: reaps and prunes, and asks the application. Each of
 * the two goes on by itself and never overlaps with itself. A failure is told once until another one
 * takes its place, since the application may not be up yet, or just be restarting.
 */
export function startTick({ everyMs, database, url, secret }: TickOptions): {
  stop(): Promise<void>;
} {
  const stopping = new AbortController();
  const loops = [
    repeat(everyMs, stopping.signal, "reap and prune", async () => {
      await database.call("reap", {});
      await database.call("prune", {});
    }),
  ];
  if (url !== undefined) {
    loops.push(
      repeat(everyMs, stopping.signal, `GET ${url}`, () => ask(url, secret, stopping.signal)),
    );
  }
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

async function ask(url: string, secret: string, stopping: AbortSignal): Promise<void> {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${secret}`, "user-agent": "leasehold-dev" },
    redirect: "manual", // as Vercel's cron: a login page is no answer
    signal: AbortSignal.any([stopping, AbortSignal.timeout(answerWithinMs)]),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`it answered ${response.status}`);
}

async function repeat(
  everyMs: number,
  stopping: AbortSignal,
  what: string,
  work: () => Promise<void>,
): Promise<void> {
  let told: string | undefined;
  for (;;) {
    await pause(everyMs, stopping);
    if (stopping.aborted) return;
    try {
      await work();
      if (told !== undefined) printNote(`leasehold: ${what} succeeds now.`);
      told = undefined;
    } catch (error) {
      if (stopping.aborted) return;
      const said = oneLine(describeError(error).message);
      if (said !== told) printNote(`leasehold: ${what} failed, and is tried again: ${said}`);
      told = said;
    }
  }
}

function pause(ms: number, stopping: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      stopping.removeEventListener("abort", done); // else each pause leaves one behind
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (stopping.aborted) done();
    else stopping.addEventListener("abort", done);
  });
}
