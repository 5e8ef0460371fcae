import { randomBytes } from "node:crypto";
import type { Database } from "leasehold";
import { pg } from "leasehold/pg";
import { pglite } from "leasehold/pglite";
import { migrate } from "leasehold/schema";
import { type Client, mailboxSql } from "../mailbox.ts";
import type { WorkerDatabase } from "../protocol.ts";
import { serveDatabase, socketPath } from "../socket-database.ts";
import type { Cleanup } from "./cleanup.ts";

/** The demo's database, its schemas installed. */
export interface DemoDatabase {
  readonly leasehold: Required<Database>;
  /** The schema of the example's own tables. */
  readonly mailSchema: string;
  readonly forWorkers: WorkerDatabase;
  /** Runs statements of the example's own. */
  read<T>(work: (client: Client) => Promise<T>): Promise<T>;
}

/** PostgreSQL where DATABASE_URL names one, else PGlite in this process, served over a socket. */
export async function openDatabase(
  url: string | undefined,
  folder: string,
  cleanup: Cleanup,
): Promise<DemoDatabase> {
  const opened = url ? openServer(url) : openEmbedded(folder);
  const { leasehold, mailSchema } = opened;
  cleanup.add(() => leasehold.close());
  await migrate(leasehold);
  if (url) cleanup.add(() => dropSchemas(leasehold, mailSchema));
  await leasehold.script(mailboxSql(mailSchema));
  if (opened.forWorkers.at === "socket") {
    const server = await serveDatabase(leasehold, opened.forWorkers.path);
    cleanup.add(() => server.close());
  }
  return {
    ...opened,
    read: (work) => leasehold.transaction(({ client }) => work(client as Client)),
  };
}

type Opened = Omit<DemoDatabase, "read">;

function openEmbedded(folder: string): Opened {
  return {
    leasehold: pglite("memory://"),
    mailSchema: "mail",
    forWorkers: { at: "socket", path: socketPath(folder) },
  };
}

/** Schemas under a name drawn by lot: two demos may share a server, and no data of others is hit. */
function openServer(url: string): Opened {
  const schema = `leasehold_demo_${randomBytes(4).toString("hex")}`;
  const mailSchema = `${schema}_mail`;
  return {
    leasehold: pg(url, { schema }),
    mailSchema,
    forWorkers: { at: "server", schema, mailSchema },
  };
}

async function dropSchemas(leasehold: Required<Database>, mailSchema: string): Promise<void> {
  await leasehold.script(`drop schema if exists ${mailSchema}, ${leasehold.schema} cascade`);
}
