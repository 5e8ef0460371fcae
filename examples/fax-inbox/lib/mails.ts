import type { ClientBase } from "pg";
import { z } from "zod";
import { pool } from "./database.ts";
import { oneLine } from "./one-line.ts";

/** Cut and not refused: a mail must not be lost for its subject. */
const line = z.string().transform((text) => oneLine(text, 500));

/** What the mail provider tells of a message: enough to list it, not its attachments. */
export const announcement = z.object({
  // A part of paths, and the key of the job.
  id: z.string().regex(/^[\w-]{1,64}$/),
  from: line,
  subject: line,
  receivedAt: z.iso.datetime({ offset: true }),
});

export type Announcement = z.infer<typeof announcement>;

/** One attachment in the storage. */
export interface Attachment {
  /** Among the attachments of its mail, from 0. */
  readonly position: number;
  readonly filename: string;
  readonly contentType: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Mail {
  readonly id: string;
  readonly sender: string;
  readonly subject: string;
  /** ISO 8601. */
  readonly receivedAt: string;
  readonly jobId: string;
  /** Null until its attachments are there. */
  readonly fetchedAt: string | null;
  readonly attachments: readonly Attachment[];
}

type MailRow = Omit<Mail, "receivedAt" | "fetchedAt"> & {
  receivedAt: Date;
  fetchedAt: Date | null;
};

/** Whether there is a mail of this id. */
export async function isKnown(client: ClientBase, id: string): Promise<boolean> {
  const { rowCount } = await client.query("select from fax.mails where id = $1", [id]);
  return rowCount === 1;
}

/**
 * Stores an announced mail and the job that fetches it. False: another transaction was first, which
 * this one has waited for.
 */
export async function storeMail(
  client: ClientBase,
  mail: Announcement,
  jobId: string,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `insert into fax.mails (id, sender, subject, received_at, job_id)
     values ($1, $2, $3, $4, $5) on conflict (id) do nothing`,
    [mail.id, mail.from, mail.subject, mail.receivedAt, jobId],
  );
  return rowCount === 1;
}

/** In the transaction that completes the job: the attachments are there and the job is done, or neither. */
export async function storeAttachments(
  client: ClientBase,
  mailId: string,
  attachments: readonly Attachment[],
): Promise<void> {
  await client.query(
    `insert into fax.attachments (mail_id, position, filename, content_type, path, bytes, sha256)
     select $1, a.position, a.filename, a."contentType", a.path, a.bytes, a.sha256
     from jsonb_to_recordset($2::text::jsonb) a
       (position int, filename text, "contentType" text, path text, bytes int, sha256 text)`,
    [mailId, JSON.stringify(attachments)],
  );
  await client.query("update fax.mails set fetched_at = clock_timestamp() where id = $1", [mailId]);
}

/** The newest mails, with what is stored of them. */
export async function newestMails(limit: number): Promise<readonly Mail[]> {
  const { rows } = await pool.query<MailRow>(
    `select m.id, m.sender, m.subject, m.received_at as "receivedAt", m.job_id as "jobId",
       m.fetched_at as "fetchedAt", coalesce(a.list, '[]') as attachments
     from fax.mails m left join lateral (
       select jsonb_agg(jsonb_build_object('position', position, 'filename', filename, 'path', path,
         'contentType', content_type, 'bytes', bytes, 'sha256', sha256) order by position) as list
       from fax.attachments where mail_id = m.id) a on true
     order by m.stored_at desc, m.id limit $1`,
    [limit],
  );
  return rows.map((row) => ({
    ...row,
    receivedAt: row.receivedAt.toISOString(),
    fetchedAt: row.fetchedAt?.toISOString() ?? null,
  }));
}

export async function attachmentOf(mailId: string, position: number): Promise<Attachment | null> {
  const { rows } = await pool.query<Attachment>(
    `select position, filename, content_type as "contentType", path, bytes, sha256
     from fax.attachments where mail_id = $1 and position = $2`,
    [mailId, position],
  );
  return rows[0] ?? null;
}

export async function subjectsOf(mailIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await pool.query<{ id: string; subject: string }>(
    "select id, subject from fax.mails where id = any($1)",
    [mailIds],
  );
  return new Map(rows.map(({ id, subject }) => [id, subject]));
}
