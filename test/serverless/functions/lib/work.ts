import { defineJob, type Job } from "leasehold";
import { z } from "zod";

const payload = z.object({
  /** See deeds.ts. */
  does: z.enum(["rests", "steps", "endless", "deaf", "blocks", "waits", "writes"]),
  ms: z.number().default(0),
  times: z.number().default(1),
});

export type Payload = z.output<typeof payload>;
export type Deed = Payload["does"];
export type WorkJob = Job<Payload>;

/** The one kind of job of these functions. */
export const work = defineJob("work", {
  payload,
  lease: Number(process.env.LEASE_MS),
  backoff: [100],
});
