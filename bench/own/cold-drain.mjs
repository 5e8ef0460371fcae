/**
 * A serverless function's first call: a process that loads leasehold, drains one job and ends. Plain
 * JavaScript, so that no compiler is part of what is measured. Argument: `{url}` as JSON.
 */
const now = () => Number(process.hrtime.bigint()) / 1e6;
const beganMs = now();
const { url } = JSON.parse(process.argv[2]);

const { createLeasehold, defineJob, handle, silentLogger } = await import("leasehold");
const { pg } = await import("leasehold/pg");
const loadedMs = now();

let jobMs = 0;
const noop = handle(defineJob("noop"), () => {
  jobMs = now();
});
const leasehold = createLeasehold({ database: pg(url), handlers: [noop], logger: silentLogger });
const report = await leasehold.drain({ budget: "20s" });
const drainedMs = now();
await leasehold.close();
process.send({ beganMs, loadedMs, jobMs, drainedMs, completed: report.completed }, () =>
  process.disconnect(),
);
