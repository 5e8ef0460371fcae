import { listJobs } from "./listed-jobs.ts";
import { type MailState, stateOf } from "./mail-state.ts";
import { type Mail, newestMails } from "./mails.ts";

/** One mail as the inbox shows it: JSON, since it travels to the page. */
export interface InboxMail {
  readonly id: string;
  readonly sender: string;
  readonly subject: string;
  readonly receivedAt: string;
  readonly state: MailState;
  readonly attachments: readonly InboxAttachment[];
}

export interface InboxAttachment {
  readonly position: number;
  readonly filename: string;
  readonly bytes: number;
}

const shown = 50;

/** The newest mails, each with what its job is at. */
export async function inbox(): Promise<readonly InboxMail[]> {
  const mails = await newestMails(shown);
  const ids = mails.filter(({ fetchedAt }) => fetchedAt === null).map(({ jobId }) => jobId);
  const jobs = new Map((ids.length > 0 ? await listJobs({ ids }) : []).map((job) => [job.id, job]));
  return mails.map((mail) => {
    const { id, sender, subject, receivedAt, fetchedAt, jobId } = mail;
    const state = stateOf(fetchedAt !== null, jobs.get(jobId));
    return { id, sender, subject, receivedAt, state, attachments: listed(mail) };
  });
}

function listed({ attachments }: Mail): InboxAttachment[] {
  return attachments.map(({ position, filename, bytes }) => ({ position, filename, bytes }));
}
