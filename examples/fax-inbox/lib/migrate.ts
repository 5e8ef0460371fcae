import { inTransaction } from "./transaction.ts";

/**
 * Makes the application's own tables, in the schema `fax`, where they are missing. Any number may run
 * at once and at every start: the lock lets one go first, and ends with its transaction.
 */
export async function migrate(): Promise<void> {
  await inTransaction(async (client) => {
    await client.query("select pg_advisory_xact_lock(hashtext('fax-inbox: migrate'))");
    await client.query(tables);
  });
}

const tables = `
  create schema if not exists fax;
  create table if not exists fax.mails (
    id          text primary key,   -- the provider's; what makes a redelivery harmless for ever
    sender      text not null,
    subject     text not null,
    received_at timestamptz not null,
    stored_at   timestamptz not null default clock_timestamp(),
    job_id      uuid not null,      -- a job is pruned some day, so no foreign key
    fetched_at  timestamptz         -- with the attachments, in the transaction that completes the job
  );
  create index if not exists mails_by_age on fax.mails (stored_at desc, id);
  create table if not exists fax.attachments (
    mail_id      text not null references fax.mails on delete cascade,
    position     int not null,      -- among the attachments of the mail, from 0
    filename     text not null,     -- as the sender wrote it: a text, no path
    content_type text not null,     -- what the sender says it is
    path         text not null unique, -- in the storage
    bytes        int not null,
    sha256       text not null,
    primary key (mail_id, position)
  );`;
