import type { Database } from "../database.ts";
import { LeaseholdError, leaseholdError } from "../errors.ts";
import { renderSql, schemaChecksum, schemaVersion } from "./render.ts";
import type { RenderOptions } from "./script.ts";

/** As for `renderSql`; the schema is the database's. */
export type MigrateOptions = Omit<RenderOptions, "schema">;

export interface MigrateResult {
  /** The version of the schema that is installed now. */
  version: number;
  /** False where everything was in place already. */
  changed: boolean;
}

/**
 * Installs leasehold's schema, or brings an older one up to date, in one transaction. Safe to call
 * at every start and from many processes at once: one works, the others wait and find it done.
 *
 * Throws LH006 when the schema is newer than this version of leasehold, LH104 when the database
 * object can't run scripts, LH002 when a role does not exist, or `my_job` is asked for where Supabase's
 * `auth.uid()` is not. Nothing is changed then.
 */
export async function migrate(
  database: Database,
  options: MigrateOptions = {},
): Promise<MigrateResult> {
  const sql = renderSql({ ...options, schema: database.schema });
  const asked = options.myJob !== undefined || (options.roles ?? []).length > 0;
  const installed = await installedSchema(database);
  if (installed !== null && installed.version > schemaVersion) throw newerError(installed.version);
  if (!asked && isCurrent(installed)) return { version: schemaVersion, changed: false };
  if (database.script === undefined) throw noScriptError();
  await database.script(sql).catch((error: unknown) => {
    throw scriptError(error);
  });
  return { version: schemaVersion, changed: true };
}

interface Installed {
  version: number;
  checksum: string;
}

async function installedSchema(database: Database): Promise<Installed | null> {
  try {
    return (await database.call("schema_version", {})) as Installed | null;
  } catch (error) {
    if (error instanceof LeaseholdError && error.code === "LH007") return null;
    throw error;
  }
}

function isCurrent(installed: Installed | null): boolean {
  return installed?.version === schemaVersion && installed.checksum === schemaChecksum;
}

/** The script raises by SQLSTATE, and `script` hands the driver's error on as it is. */
function scriptError(error: unknown): unknown {
  const { code, message, hint } = (error ?? {}) as Record<string, unknown>;
  if (error instanceof LeaseholdError || (code !== "LH002" && code !== "LH006")) return error;
  return leaseholdError(code, String(message), String(hint ?? ""), { cause: error });
}

function newerError(version: number): LeaseholdError {
  return leaseholdError(
    "LH006",
    `The schema is at version ${version}, newer than version ${schemaVersion} of this leasehold`,
    "Upgrade the leasehold package to the one that migrated this database.",
  );
}

function noScriptError(): LeaseholdError {
  return leaseholdError(
    "LH104",
    "This database can't run scripts, and the schema is missing or not up to date",
    "Migrate over a direct connection (`leasehold migrate`), or put the SQL of `leasehold migrate --print` among your migrations.",
  );
}
