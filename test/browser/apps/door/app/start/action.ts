"use server";

import { redirect } from "next/navigation";
import { quick } from "../../lib/jobs";
import { leasehold } from "../../lib/leasehold";

/** Starts a job in a server action, and shows its id. */
export async function startQuick(): Promise<void> {
  const started = await leasehold.start(quick, undefined, { owner: "ann" });
  redirect(started.outcome === "created" ? `/start/${started.id}` : `/start/${started.outcome}`);
}
