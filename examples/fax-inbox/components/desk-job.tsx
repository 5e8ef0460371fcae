import type { ReactNode } from "react";
import type { DeskJob } from "../lib/desk.ts";
import { reasonOf } from "../lib/reason.ts";
import { Moment } from "./moment.tsx";

/** One job of the admin page, with its history. `children` is what can be done, or when it goes on. */
export function DeskJobCard({ job, children }: { job: DeskJob; children: ReactNode }) {
  const { subject, mailId, code, message, attempts, maxAttempts, releases, events } = job;
  return (
    <li className="card" data-job={job.id} data-mail={mailId}>
      <div className="heading">
        <h3>{subject}</h3>
        {code !== null && <code>{code}</code>}
      </div>
      <p>{message ?? (code === null ? "" : `${capital(reasonOf(code))}.`)}</p>
      <p className="quiet">
        {attempts} of {maxAttempts} attempts
        {releases > 0 && `, given back ${releases === 1 ? "once" : `${releases} times`}`}
      </p>
      <div className="row">{children}</div>
      <details>
        <summary>What happened</summary>
        <ol className="events">
          {events.map((event) => (
            <li key={event.id}>
              <Moment at={event.at} /> <strong>{event.event}</strong>
              {event.code !== null && ` ${event.code}`}
              {event.message !== null && <span className="quiet"> {event.message}</span>}
            </li>
          ))}
        </ol>
      </details>
    </li>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
