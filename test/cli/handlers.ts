/** Modules as users write them, for `leasehold drain`. */

/** `wait` says that it has started and waits for the file `go` in the working directory. */
export const waiting = `
import { existsSync } from "node:fs";
import { defineJob, handle } from "leasehold";

export const wait = handle(defineJob("wait", { lease: "60s" }), async (job) => {
  console.log("started attempt " + job.attempt);
  while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 5));
  return "waited";
});
`;

/** One job that goes well, and those that don't. */
export const mixed = `
import { defineJob, handle, PermanentError } from "leasehold";
import { z } from "zod";

const greet = defineJob("greet", { payload: z.object({ name: z.string() }) });

export const handlers = [
  handle(greet, (job): string => \`hello \${job.payload.name}\`),
  handle(defineJob("fail"), () => {
    throw new PermanentError("never", { code: "NEVER" });
  }),
];
`;

/** What goes wrong outside of a handler's own promise. */
export const stray = `
import { defineJob, handle } from "leasehold";

export const forgotten = handle(defineJob("forgotten"), () => {
  void Promise.reject(new Error("late"));
  return 1;
});
export const exploding = handle(defineJob("exploding"), async () => {
  setTimeout(() => { throw new Error("boom"); }, 1);
  await new Promise(() => undefined);
});
`;

/** A client of its own, on the database that the environment names; its listener throws. */
export const client = `
import { createLeasehold, defineJob, handle } from "leasehold";

const leasehold = createLeasehold({ handlers: [handle(defineJob("greet"), () => "hello")] });
leasehold.on("completed", () => { throw new Error("listener"); });
export default leasehold;
`;

/** For `leasehold work`: quick ones, slow ones, and those that forget something. */
export const working = `
import { defineJob, handle } from "leasehold";

const never = new Promise<never>(() => undefined);
const aborted = (signal: AbortSignal) => new Promise<never>((_, reject) =>
  signal.addEventListener("abort", () => reject(signal.reason)));

export const handlers = [
  handle(defineJob("quick"), () => 1),
  handle(defineJob("fails"), () => { throw new Error("on purpose"); }),
  handle(defineJob("takes_a_while"), () => new Promise((resolve) => setTimeout(resolve, 500))),
  handle(defineJob("obeys"), (job) => aborted(job.signal)),
  handle(defineJob("ignores"), () => never),
  handle(defineJob("forgets"), () => { void Promise.reject(new Error("late")); }),
  handle(defineJob("throws_later"), () => {
    setTimeout(() => { throw new Error("later still"); }, 1);
  }),
];
`;
