import { leaseholdError } from "./errors.ts";
import { type FullDatabase, lazyDatabase } from "./lazy-database.ts";

/** What belongs to the embedded database, seen from the working directory. */
const embeddedFolder = ".leasehold";

/** Its data, in a folder of their own beside their lock. */
export const embeddedData = `${embeddedFolder}/pgdata`;

export interface DefaultDatabaseOptions {
  /** The schema that holds leasehold's functions, "leasehold" by default. */
  schema?: string;
  /** The URL of the connection that a worker listens on, as `pg()` takes it. */
  listen?: string;
  /** The environment, `process.env` by default; read at the first call. */
  env?: Readonly<Record<string, string | undefined>>;
}

/**
 * The database of a client that was given none: the PostgreSQL that `DATABASE_URL`, else
 * `POSTGRES_URL` names; with neither, a PGlite in `.leasehold/` of the working directory, which
 * installs leasehold's schema by itself.
 *
 * Nothing is read or opened before the first call. That call rejects with LH101 where nothing is
 * configured and an embedded database would be lost or shared by many processes (`NODE_ENV` is
 * production, or `VERCEL` is set) or can't be made, and as `pg()` and `pglite()` do.
 */
export function openDefaultDatabase({
  schema = "leasehold",
  listen,
  env = process.env,
}: DefaultDatabaseOptions = {}): FullDatabase {
  return lazyDatabase(schema, async () => {
    for (const name of ["DATABASE_URL", "POSTGRES_URL"]) {
      const url = env[name];
      if (url) return openServer(name, url, { schema, ...(listen !== undefined && { listen }) });
    }
    if (env.NODE_ENV === "production" || env.VERCEL) {
      throw notConfiguredError("an embedded one would not last in production");
    }
    return openEmbedded(schema);
  });
}

async function openServer(
  name: string,
  url: string,
  options: { schema: string; listen?: string },
): Promise<FullDatabase> {
  const { pg } = await import("./pg/index.ts");
  try {
    return pg(url, options);
  } catch (cause) {
    // Often the SQLite or MySQL of an ORM. The value may hold a password, so it is not shown.
    const hint = "Set it to a URL that begins with postgres://, or pass `database`.";
    throw leaseholdError("LH107", `${name} names no PostgreSQL`, hint, { cause });
  }
}

async function openEmbedded(schema: string): Promise<FullDatabase> {
  const { pglite } = await import("./pglite/index.ts");
  await makeEmbeddedFolder();
  const database = pglite(embeddedData, { schema });
  try {
    const { migrate } = await import("./schema/index.ts");
    await migrate(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Makes the folder around `embeddedData`, with a .gitignore: nobody thinks of it in time, and the
 * data is not to be committed. Rejects with LH101 where it can't be made.
 */
export async function makeEmbeddedFolder(): Promise<void> {
  const { mkdir, writeFile } = await import("node:fs/promises");
  try {
    await mkdir(embeddedFolder, { recursive: true });
    await writeFile(`${embeddedFolder}/.gitignore`, "*\n");
  } catch (cause) {
    throw notConfiguredError(`an embedded one can't be made in ${embeddedFolder}/`, { cause });
  }
}

function notConfiguredError(why: string, options?: ErrorOptions): Error {
  return leaseholdError(
    "LH101",
    `No database is configured, and ${why}`,
    "Set DATABASE_URL (or POSTGRES_URL) to your PostgreSQL, or pass `database`.",
    options,
  );
}
