"use client";

import { type ReactNode, useActionState, useEffect } from "react";
import { rerun } from "../app/admin/actions.ts";
import type { DeskJob, Desk as DeskView } from "../lib/desk.ts";
import { Connection } from "./connection.tsx";
import { DeskJobCard } from "./desk-job.tsx";
import { Moment, When } from "./moment.tsx";
import { usePolled } from "./use-polled.ts";

/** What needs a person, and what goes on by itself. */
export function Desk({ initial }: { initial: DeskView }) {
  const { value, isOld, refresh } = usePolled("/api/admin", initial);
  const [said, runAgain, isRunning] = useActionState(rerun, null);
  useEffect(() => {
    if (said !== null) refresh();
  }, [said, refresh]);
  return (
    <>
      <Connection isOld={isOld} />
      <div role="status">{said && <p className="notice">{said.text}</p>}</div>
      <Jobs title="Failed" none="Nothing has failed." jobs={value.failed}>
        {({ id, subject, at }) => (
          <>
            <span className="quiet">
              Failed at <Moment at={at} />
            </span>
            <form action={runAgain}>
              <input type="hidden" name="id" value={id} />
              <button
                type="submit"
                className="primary"
                disabled={isRunning}
                aria-label={`Re-run ${subject}`}
              >
                Re-run
              </button>
            </form>
          </>
        )}
      </Jobs>
      <Jobs title="Given back" none="No job rests." jobs={value.released}>
        {({ at }) => (
          <span>
            Goes on <When at={at} />; the attempt does not count.
          </span>
        )}
      </Jobs>
      <Jobs title="Tried again" none="Nothing waits for another attempt." jobs={value.retrying}>
        {({ at }) => (
          <span>
            Next attempt <When at={at} />.
          </span>
        )}
      </Jobs>
    </>
  );
}

interface JobsProps {
  readonly title: string;
  readonly none: string;
  readonly jobs: readonly DeskJob[];
  /** What can be done about one, or when it goes on. */
  readonly children: (job: DeskJob) => ReactNode;
}

function Jobs({ title, none, jobs, children }: JobsProps) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {jobs.length === 0 ? (
        <p className="quiet">{none}</p>
      ) : (
        <ul className="list">
          {jobs.map((job) => (
            <DeskJobCard key={job.id} job={job}>
              {children(job)}
            </DeskJobCard>
          ))}
        </ul>
      )}
    </section>
  );
}
