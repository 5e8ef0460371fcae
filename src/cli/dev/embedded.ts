import { statSync } from "node:fs";
import { resolve } from "node:path";
import { embeddedData, makeEmbeddedFolder } from "../../default-database.ts";
import type { FullDatabase } from "../../lazy-database.ts";
import { openFolder } from "../../pglite/folder.ts";
import { pglite } from "../../pglite/index.ts";
import { serveWire, type WireServer } from "../../pglite/wire/server.ts";
import { migrate } from "../../schema/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";

/** The embedded database, migrated and served. */
export interface Embedded {
  readonly url: string;
  /** For calls of this process; they stand in line with the server's clients. */
  readonly database: FullDatabase;
  /** Resolves, with what is wrong, when nothing can be asked of it any more. */
  readonly lost: Promise<Error>;
  /** Ends the connections, and closes the database with its lock. */
  close(): Promise<void>;
}

/** A transaction that waits for its client may take so long, and calls wait for it. */
const idleMs = 60_000;

/** A little more than what a client is given for a transaction that it forgot. */
const busyTimeoutMs = idleMs + 15_000;

/** How often it is looked whether the folder is there still. */
const lookMs = 1_000;

/**
 * Opens the database of the working directory as a client without any would, for other processes as
 * well. Rejects with LH102 where another process owns it, LH106 where PGlite is not installed, and a
 * CliError where the port can't be had.
 */
export async function openEmbedded(schema: string, port: number): Promise<Embedded> {
  await makeEmbeddedFolder();
  const share = await openFolder(embeddedData);
  const database = pglite(embeddedData, { schema, busyTimeoutMs });
  let server: WireServer | undefined;
  const watch = watchFolder();
  async function close(): Promise<void> {
    watch.stop();
    await server?.close();
    await database.close();
    await share.release();
  }
  try {
    await migrate(database);
    const onLost = watch.lose;
    server = await serveWire(share.value, { port, idleMs, onLost }).catch((cause) => {
      throw portError(port, cause);
    });
    return { url: server.url, database, lost: watch.lost, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** PGlite goes on for a while when its files are deleted, and answers with odd errors. */
function watchFolder(): { lost: Promise<Error>; lose(error: Error): void; stop(): void } {
  const path = resolve(embeddedData); // a handler may change the working directory
  const inode = (): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino;
  const before = inode();
  let lose: (error: Error) => void = () => undefined;
  const lost = new Promise<Error>((resolve) => {
    lose = resolve;
  });
  const timer = setInterval(() => {
    if (inode() !== before) lose(new Error(`the folder ${path} was deleted or replaced`));
  }, lookMs);
  return { lost, lose, stop: () => clearInterval(timer) };
}

function portError(port: number, cause: unknown): unknown {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code !== "EADDRINUSE" && code !== "EACCES") return cause;
  const hint = "Give another --port; without it any that is free is taken.";
  return new CliError(exitCodes.failed, `Port ${port}: ${message}.`, hint, { cause });
}
