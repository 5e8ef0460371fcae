import { nowMs, pause } from "../child/clock.ts";
import type { Place } from "./place.ts";

const everyMs = 1_000;

/** Prunes each second until the end, again at once as long as there is something to delete. */
export async function keepPruned(place: Place, olderThanMs: number, endMs: number): Promise<void> {
  const child = place.start();
  while (nowMs() < endMs) {
    const deleted = await child.call("prune", { url: place.url, olderThanMs });
    if (deleted === 0) await pause(everyMs);
  }
  await child.kill();
}
