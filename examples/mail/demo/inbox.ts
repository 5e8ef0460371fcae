import type { EnqueueAnswer, Leasehold } from "leasehold";
import type { FetchEmail } from "../jobs.ts";
import { type Client, storeMail } from "../mailbox.ts";
import { type Announcement, serveWebhook, type Webhook } from "../webhook.ts";

/** What became of one announcement. */
export interface Received {
  readonly mail: Announcement;
  readonly outcome: EnqueueAnswer["outcome"];
}

/**
 * The webhook of the application: stores the message and enqueues its job in one transaction, so
 * that there is never one without the other. `once` holds beyond the end of the job: a message that
 * is announced again, at whatever time, is a duplicate.
 */
export async function openInbox(
  leasehold: Leasehold,
  fetchEmail: FetchEmail,
  mailSchema: string,
  onReceived: (received: Received) => void,
): Promise<Webhook> {
  const { database } = leasehold;
  return serveWebhook(async (mail) => {
    const answer = await database.transaction?.(async ({ client }) => {
      await storeMail(client as Client, mailSchema, mail);
      const options = { once: mail.id, tx: client };
      return leasehold.enqueue(fetchEmail, { messageId: mail.id }, options);
    });
    if (answer) onReceived({ mail, outcome: answer.outcome });
  });
}
