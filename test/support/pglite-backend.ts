import { randomBytes } from "node:crypto";
import { openAsBlob } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { pglite as leaseholdPGlite } from "../../src/pglite/index.ts";
import { migrate } from "../../src/schema/index.ts";
import type { BackendDatabase } from "./databases.ts";

/** An instance in memory. Loading a kept data folder takes a sixth of the time of making one. */
export async function openPGlite(schema: string, migrated: boolean): Promise<BackendDatabase> {
  const db = await PGlite.create({ loadDataDir: await emptyDataDir() });
  const database = leaseholdPGlite(db, { schema });
  if (migrated) await migrate(database);
  const none = (what: string): never => {
    throw new Error(`This test database is PGlite: it has no ${what}`);
  };
  return {
    query: async (text, values) => {
      if (values !== undefined) return (await db.query<Record<string, unknown>>(text, values)).rows;
      return (await db.exec(text)).at(-1)?.rows ?? [];
    },
    database,
    connect: async () => none("second session"),
    get url(): never {
      return none("url");
    },
    get pool(): never {
      return none("pool");
    },
    pglite: db,
    close: () => db.close(),
  };
}

let opened: Promise<Blob> | undefined;

function emptyDataDir(): Promise<Blob> {
  opened ??= loadOrMake();
  return opened;
}

/** Kept in one file a version of PGlite, for all runs; it takes its name only when complete. */
async function loadOrMake(): Promise<Blob> {
  const file = join(tmpdir(), `leasehold-pglite-${await version()}-${process.getuid?.() ?? 0}.tar`);
  try {
    return await openAsBlob(file);
  } catch {
    const db = await PGlite.create();
    const dump = await db.dumpDataDir("none");
    await db.close();
    const draft = `${file}.${randomBytes(6).toString("hex")}`;
    await writeFile(draft, Buffer.from(await dump.arrayBuffer()));
    await rename(draft, file);
    return dump;
  }
}

async function version(): Promise<string> {
  const main = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const text = await readFile(join(dirname(main), "..", "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
