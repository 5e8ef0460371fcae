import { handle, type Leasehold, type Verdict } from "leasehold";
import { createLeasehold } from "leasehold/next";
import { pg } from "leasehold/pg";
import { pool } from "./database.ts";
import { fetchAttachments } from "./fetch-email.ts";
import { fetchEmail } from "./jobs.ts";
import { StorageFailure } from "./storage.ts";
import { timing } from "./timing.ts";

export const leasehold: Leasehold = createLeasehold({
  database: pg(pool),
  handlers: [handle(fetchEmail, fetchAttachments, { classify })],
});

/**
 * leasehold's own judgement stands: 5xx, 429, network, timeouts and the database are tried again, 404
 * fails now, 401 and 403 give the job back. Only the rest is scaled like all other times, and the code
 * says whose key it was.
 */
function classify(thrown: unknown, verdict: Verdict): Verdict | undefined {
  if (verdict.action !== "release") return undefined;
  const code = thrown instanceof StorageFailure ? thrown.code : undefined;
  return { ...verdict, retryAfterMs: timing.restMs, code: code ?? verdict.code };
}
