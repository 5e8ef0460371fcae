import type { Leasehold } from "../client.ts";
import { accessOf } from "../client-access.ts";
import { type Bounds, type DrainOptions, drainBounds } from "../drain-bounds.ts";
import { invalidArgument } from "../errors.ts";
import { noHandlers } from "../leasehold.ts";
import { knownOptions } from "../options.ts";
import { JoinedDrains } from "./joined-drains.ts";
import { keepAliveWith } from "./keep-alive.ts";
import { processWide } from "./process-wide.ts";

/** How a drain behind an answer is bounded. */
export type DrainAfterOptions = Omit<DrainOptions, "signal">;

const optionNames = ["budget", "reserve", "maxJobs", "kinds", "worker"] as const;

const maxMaxJobs = 10_000;

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
  const bounds = drainBounds(options, access.kinds);
  const failed = (error: unknown): void => {
    access.failed(error, "drain", "a drain behind an answer failed");
  };
  const drains = joined(leasehold, options, bounds, failed);
  await keepAliveWith(failed)(() => drains.run());
}

/** The drains of one client that are bounded alike. */
function joined(
  leasehold: Leasehold,
  options: DrainAfterOptions,
  { budgetMs, reserveMs, maxJobs, kinds }: Bounds,
  failed: (error: unknown) => void,
): JoinedDrains {
  const { drains } = processWide();
  const own = drains.get(leasehold) ?? new Map<string, JoinedDrains>();
  drains.set(leasehold, own);
  const key = JSON.stringify([budgetMs, reserveMs, maxJobs, kinds, options.worker]);
  const known = own.get(key);
  if (known !== undefined) return known;
  const drain = async (budget: number, askers: number): Promise<void> => {
    // Such a drain would claim nothing: the one before it had all the time that there was.
    if (budget <= reserveMs) return;
    const most = Math.min(maxJobs * askers, maxMaxJobs);
    const own = { ...options, budget, reserve: reserveMs, maxJobs: most };
    await leasehold.drain(own).catch(failed);
  };
  const made = new JoinedDrains(budgetMs, drain);
  own.set(key, made);
  return made;
}
