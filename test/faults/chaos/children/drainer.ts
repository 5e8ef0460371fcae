/** A process that drains again and again, as a function that a cron calls. SIGTERM ends it. */
import "./clock.ts";
import { setTimeout as pause } from "node:timers/promises";
import type { DrainReport } from "leasehold";
import { childClient } from "./client.ts";
import { leash } from "./leash.ts";

const letGo = leash();
const client = childClient();
for (;;) {
  const report = await drained();
  if (report?.reason === "sigterm") break;
  if (report === undefined || report.processed === 0) await pause(300);
}
letGo();
// A pool waits for the goodbye of a connection that went dead without a word, for ever.
await Promise.race([client.close(), pause(2_000)]);
process.exit();

/** Undefined where the database was away at once, as a function answers 500 and is called again. */
function drained(): Promise<DrainReport | undefined> {
  const drain = client.leasehold.drain({ budget: "4s", reserve: "1s", maxJobs: 10 });
  return drain.catch(() => undefined);
}
