import { createLeasehold, type DrainOptions, handle } from "leasehold";
import { deeds } from "./deeds.ts";
import { work } from "./work.ts";

export const leasehold = createLeasehold({
  handlers: [handle(work, (job) => deeds[job.payload.does](job))],
});

/** The bounds of every drain here, in milliseconds. */
export const bounds: DrainOptions = {
  budget: Number(process.env.BUDGET_MS),
  reserve: Number(process.env.RESERVE_MS),
  maxJobs: Number(process.env.MAX_JOBS),
};
