import { randomBytes } from "node:crypto";
import pg from "pg";
import { quoteIdentifier } from "../../src/database.ts";
import { renderSql, schemaChecksum } from "../../src/schema/render.ts";

/** Named by what is in it: another version of the SQL gets another template. */
const template = `leasehold_template_${schemaChecksum.slice(0, 16)}`;

/** The database of `adminUrl` replaced by another. */
export function urlOf(adminUrl: string, database: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${encodeURIComponent(database)}`;
  return url.href;
}

/** Runs `work` with one connection, which is closed afterwards. */
export async function withClient<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Makes the migrated database that all others are copied from, where it is missing. It is made under
 * another name, so that a run that was killed leaves no half of one.
 */
export async function prepareTemplate(adminUrl: string): Promise<void> {
  await withClient(adminUrl, async (admin) => {
    await admin.query("select pg_advisory_lock(hashtextextended($1, 0))", [template]);
    const { rowCount } = await admin.query("select from pg_database where datname = $1", [
      template,
    ]);
    if (rowCount !== 0) return;
    const draft = `leasehold_draft_${randomBytes(6).toString("hex")}`;
    await admin.query(`create database ${draft}`);
    await withClient(urlOf(adminUrl, draft), (client) => client.query(renderSql()));
    await admin.query(`alter database ${draft} allow_connections false`);
    await admin.query(`alter database ${draft} rename to ${template}`);
  });
}

/** Removes the template from a server that outlives this run. */
export async function dropTemplate(adminUrl: string): Promise<void> {
  await withClient(adminUrl, (admin) => admin.query(`drop database if exists ${template}`));
}

/** Makes a database with a name of its own, migrated (by copying) or empty, and answers its url. */
export async function createDatabase(adminUrl: string, migrated: boolean): Promise<string> {
  const name = `leasehold_test_${process.pid}_${randomBytes(6).toString("hex")}`;
  for (let attempt = 1; ; attempt++) {
    try {
      const source = migrated ? `template ${template}` : "template template0";
      await withClient(adminUrl, (admin) => admin.query(`create database ${name} ${source}`));
      return urlOf(adminUrl, name);
    } catch (error) {
      // 3D000: a run of the same version that ended meanwhile took its template away.
      if (attempt === 5 || (error as { code?: string }).code !== "3D000") throw error;
      await prepareTemplate(adminUrl);
    }
  }
}

/**
 * Drops a database of `createDatabase`, whoever is connected to it. Connections that are closing get
 * half a second: node-postgres does not wait for their end, and would report them as lost.
 */
export async function dropDatabase(adminUrl: string, url: string): Promise<void> {
  const name = decodeURIComponent(new URL(url).pathname.slice(1));
  await withClient(adminUrl, async (admin) => {
    const connected = "select from pg_stat_activity where datname = $1";
    for (let i = 0; i < 100 && (await admin.query(connected, [name])).rowCount !== 0; i++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await admin.query(`drop database if exists ${quoteIdentifier(name)} with (force)`);
  });
}
