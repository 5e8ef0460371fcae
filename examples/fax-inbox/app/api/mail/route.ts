import { drainAfter } from "leasehold/next";
import { leasehold } from "../../../lib/leasehold.ts";
import { receiveMail } from "../../../lib/receive-mail.ts";
import { drainOptions } from "../../../lib/timing.ts";

/** Seconds: the platform's limit, above the budget of the drain behind the answer. */
export const maxDuration = 300;

/** The mail provider announces a mail. */
export async function POST(request: Request): Promise<Response> {
  const answer = await receiveMail(request);
  // A wake-up, no guarantee: what it leaves, the cron finds.
  if (answer.ok) await drainAfter(leasehold, drainOptions);
  return answer;
}
