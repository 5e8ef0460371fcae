/// <reference path="./next-server.d.ts" />

import type { KeepAlive } from "../background.ts";
import { describeError } from "../describe-error.ts";
import { leaseholdError } from "../errors.ts";
import { consoleLogger } from "../logger.ts";

type After = (task: () => Promise<void>) => void;

let loading: Promise<After | undefined> | undefined;

/**
 * A KeepAlive through `after` of next/server (Next 15.1 and up): the work begins when the answer was
 * sent, and the platform, or `next start` at SIGTERM, waits for its end. Outside a request, or without
 * Next, it runs in this process, which nothing then keeps alive; on Vercel, where the work would be
 * frozen, it rejects with LH109 instead. `failed` is told of what the work rejects with: `after` would
 * print it and let it go.
 */
export function keepAliveWith(failed: (error: unknown) => void): KeepAlive {
  return async (task) => {
    const work = (): Promise<void> => task().catch(failed);
    // `after` knows its request by an AsyncLocalStorage, which outlasts this await.
    const after = await loadAfter();
    let cause: unknown;
    try {
      if (after !== undefined) return after(work);
    } catch (error) {
      cause = error;
    }
    if (globalThis.process?.env.VERCEL) throw cutOff(cause);
    setTimeout(() => void work(), 0);
  };
}

/** See `keepAliveWith`; what the work rejects with goes to the console. For a client of the core. */
export const keepAlive: KeepAlive = keepAliveWith((error) => {
  consoleLogger.error({ err: describeError(error) }, "work behind an answer failed");
});

/**
 * Next has no `exports`, so only the name with its extension is found by Node and by bundlers alike;
 * and only an import at the first use leaves this door open to processes without Next.
 */
async function loadAfter(): Promise<After | undefined> {
  loading ??= importAfter();
  return loading;
}

async function importAfter(): Promise<After | undefined> {
  try {
    return (await import("next/server.js")).after;
  } catch {
    return undefined;
  }
}

function cutOff(cause: unknown): Error {
  return leaseholdError(
    "LH109",
    "On Vercel the function is frozen once it has answered, and `after` of Next 15.1 is not to be had here",
    'Call it in a route handler or a server action, or set startIn: "worker".',
    { cause },
  );
}
