"use client";

import { useJob, useStartJob } from "leasehold/react";
import { useRouter } from "next/navigation";
import { type FormEvent, useEffect, useState } from "react";
import type { assess } from "@/lib/jobs";
import type { Progress, Report } from "@/lib/report";
import { JobCard } from "./job-card";
import { StartNotice } from "./start-notice";

/** Where an assessment is asked for and followed. `runningId` may be one that another tab started. */
export function Desk({ runningId }: { runningId: string | null }) {
  const router = useRouter();
  const { start, isStarting, answer, reset } = useStartJob<typeof assess>("assess");
  const [followedId, follow] = useState(runningId);
  const followed = useJob<Report, Progress>(followedId);

  // Balance, entries and the list below are the server's: it renders them anew.
  useEffect(() => {
    if (!followed.isSettled) return;
    reset(); // "already running" is not true any more
    router.refresh();
  }, [followed.isSettled, reset, router]);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const address = String(new FormData(event.currentTarget).get("address"));
    const answer = await start({ address });
    // The one that was started, or the user's own that was in the way.
    if ("id" in answer && answer.id !== null) follow(answer.id);
    router.refresh();
  }

  return (
    <>
      <section className="card" aria-labelledby="ask">
        <h2 id="ask">Assess an address</h2>
        <form onSubmit={submit} className="ask">
          <label htmlFor="address">Address</label>
          <div className="row">
            <input
              id="address"
              name="address"
              required
              minLength={5}
              maxLength={200}
              autoComplete="street-address"
              placeholder="12 Mill Lane, Leeds"
            />
            <button type="submit" disabled={isStarting} className="primary">
              {isStarting ? "Asking …" : "Assess for 1 point"}
            </button>
          </div>
        </form>
        <div role="status">{answer && <StartNotice answer={answer} />}</div>
      </section>
      {followedId !== null && <JobCard {...followed} />}
    </>
  );
}
