"use client";

import type { InboxMail } from "../lib/inbox.ts";
import { Connection } from "./connection.tsx";
import { MailCard } from "./mail-card.tsx";
import { usePolled } from "./use-polled.ts";

/** The mails, the newest first. `initial` came with the page; from then on it asks. */
export function Inbox({ initial }: { initial: readonly InboxMail[] }) {
  const { value: mails, isOld } = usePolled("/api/inbox", initial);
  return (
    <>
      <Connection isOld={isOld} />
      <p role="status" className="quiet">
        {summary(mails)}
      </p>
      <ul className="list" aria-label="Faxes">
        {mails.map((mail) => (
          <MailCard key={mail.id} mail={mail} />
        ))}
      </ul>
    </>
  );
}

/** Said aloud by a screen reader when it changes, instead of each card. */
function summary(mails: readonly InboxMail[]): string {
  if (mails.length === 0) return "No fax has come yet.";
  const count = (...at: string[]) => mails.filter(({ state }) => at.includes(state.at)).length;
  const open = count("waiting", "fetching", "retrying", "resting");
  const parts = [`${mails.length === 1 ? "One fax" : `${mails.length} faxes`}`];
  if (open > 0) parts.push(`${open} on the way`);
  if (count("failed") > 0) parts.push(`${count("failed")} failed`);
  return `${parts.join(", ")}.`;
}
