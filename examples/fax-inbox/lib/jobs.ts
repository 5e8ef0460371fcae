import { defineJob } from "leasehold";
import { z } from "zod";
import { timing } from "./timing.ts";

/** To fetch one e-mail from the provider and to store its attachments. */
export const fetchEmail = defineJob("fetch_email", {
  payload: z.object({ emailId: z.string() }),
  // At most one unfinished job for an e-mail, whoever enqueues it.
  key: ({ emailId }) => emailId,
  maxAttempts: 5,
  lease: timing.leaseMs,
  backoff: [...timing.backoffMs],
  // A failed job stays as long in the admin page, and can be run again.
  retain: "90d",
});
