/**
 * The tables of the application, beside leasehold's own: the messages that were announced and, on a
 * real server, the attachments that were stored. All of it runs inside transactions that somebody
 * else opened, so that the rows and the job commit together.
 */
import type { Announcement } from "./webhook.ts";

/** What a node-postgres client and a transaction of PGlite have in common. */
export interface Client {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** One attachment in the storage. */
export interface StoredAttachment {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The script that makes the tables. */
export function mailboxSql(schema: string): string {
  return `
    create schema ${schema};
    create table ${schema}.mails (
      id text primary key,
      sender text not null,
      subject text not null,
      received_at timestamptz not null
    );
    -- No unique index, on purpose: nothing but the fence keeps a second row out, and the demo counts.
    create table ${schema}.attachments (
      mail_id text not null references ${schema}.mails,
      path text not null,
      bytes int not null,
      sha256 text not null
    );`;
}

/** Stores an announced message; one that is there already stays as it is. */
export async function storeMail(client: Client, schema: string, mail: Announcement): Promise<void> {
  await client.query(
    `insert into ${schema}.mails (id, sender, subject, received_at)
     values ($1, $2, $3, $4) on conflict (id) do nothing`,
    [mail.id, mail.from, mail.subject, mail.receivedAt],
  );
}

export async function recordAttachments(
  client: Client,
  schema: string,
  messageId: string,
  attachments: readonly StoredAttachment[],
): Promise<void> {
  await client.query(
    `insert into ${schema}.attachments (mail_id, path, bytes, sha256)
     select $1, a.path, a.bytes, a.sha256
     from jsonb_to_recordset($2::text::jsonb) a (path text, bytes int, sha256 text)`,
    [messageId, JSON.stringify(attachments)],
  );
}

export async function storedMailIds(client: Client, schema: string): Promise<string[]> {
  const { rows } = await client.query(`select id from ${schema}.mails`);
  return rows.map((row) => (row as { id: string }).id);
}

export async function recordedAttachments(
  client: Client,
  schema: string,
): Promise<StoredAttachment[]> {
  const { rows } = await client.query(
    `select path, bytes, sha256 from ${schema}.attachments order by path`,
  );
  return rows as StoredAttachment[];
}
