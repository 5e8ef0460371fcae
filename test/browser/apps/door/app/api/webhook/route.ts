import { drainAfter } from "leasehold/next";
import { hooked } from "../../../lib/jobs";
import { leasehold } from "../../../lib/leasehold";

/** Enqueues, answers, and drains behind the answer. */
export async function POST(): Promise<Response> {
  const enqueued = await leasehold.enqueue(hooked);
  await drainAfter(leasehold);
  return Response.json(enqueued, { status: 202 });
}
