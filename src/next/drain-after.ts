import type { Leasehold } from "../client.ts";
import { accessOf } from "../client-access.ts";
import { type DrainOptions, drainBounds } from "../drain-bounds.ts";
import { invalidArgument } from "../errors.ts";
import { noHandlers } from "../leasehold.ts";
import { noteDrain } from "../note-drain.ts";
import { knownOptions } from "../options.ts";
import { keepAliveWith } from "./keep-alive.ts";

/** How a drain behind an answer is bounded. */
export type DrainAfterOptions = Omit<DrainOptions, "signal">;

const optionNames = ["budget", "reserve", "linger", "maxJobs", "kinds", "worker"] as const;

/**
 * Drains behind the answer of the request in which it is called: for a webhook that enqueues, answers
 * and lets its jobs begin at once. Requests that ask while a drain runs in this process get one more
 * after it, together, which may take `maxJobs` for each of them; the time that they wait counts
 * against `budget`. Resolves when it is arranged, not when it has run; a drain that fails is logged and
 * told by the event `error`.
 *
 * Rejects with LH002 to LH004 for options, LH105 without handlers, and LH109 on Vercel outside a
 * request; then nothing will run.
 */
export async function drainAfter(
  leasehold: Leasehold,
  options: DrainAfterOptions = {},
): Promise<void> {
  const access = accessOf(leasehold);
  if (access === undefined) throw invalidArgument("leasehold", leasehold, "a client of leasehold");
  knownOptions("drainAfter", options, optionNames);
  if (access.kinds.length === 0) throw noHandlers("a drain");
  drainBounds(options, access.kinds);
  const failed = (error: unknown): void => {
    access.failed(error, "drain", "a drain behind an answer failed");
  };
  await keepAliveWith(failed)(async () => {
    const report = await access.drains.run(options);
    if (report !== undefined) await noteDrain(leasehold.database, "after", report);
  });
}
