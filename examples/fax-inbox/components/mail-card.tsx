import type { InboxMail } from "../lib/inbox.ts";
import { badges, MailStatus } from "./mail-status.tsx";
import { Moment } from "./moment.tsx";

/** One mail of the inbox: who sent it, what it is at, and its attachments once they are there. */
export function MailCard({ mail }: { mail: InboxMail }) {
  const { id, sender, subject, receivedAt, state, attachments } = mail;
  return (
    <li className="card" data-mail={id} data-state={state.at}>
      <div className="heading">
        <h2>{subject || "No subject"}</h2>
        <span className={`badge ${state.at}`}>{badges[state.at]}</span>
      </div>
      <p className="quiet">
        {sender}, <Moment at={receivedAt} />
      </p>
      <div className="status">
        <MailStatus state={state} />
      </div>
      {state.at === "done" && attachments.length === 0 && <p>It has no attachments.</p>}
      {attachments.length > 0 && (
        <ul className="files" aria-label={`Attachments of ${subject}`}>
          {attachments.map(({ position, filename, bytes }) => (
            <li key={position}>
              <a href={`/attachments/${id}/${position}`} download>
                <span className="name">{filename}</span>
                <span className="quiet">{sizeOf(bytes)}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
