import { type RenderOptions, renderParts } from "./script.ts";
import * as parts from "./sql.generated.ts";

/** Version 1 is the first installation; each migration adds one. */
export const schemaVersion: number = parts.migrations.at(-1)?.version ?? 1;

/** SHA-256 of all SQL of this version of leasehold. */
export const schemaChecksum: string = parts.checksum;

/**
 * The SQL that installs the schema or brings an older one up to date, as one plain script: what
 * `migrate` runs and `leasehold migrate --print` prints. It may be run again at any time, must run
 * in one transaction, and holds no begin or commit of its own.
 *
 * Throws LH002 for a schema or role name that can't be used.
 */
export function renderSql(options: RenderOptions = {}): string {
  return renderParts(parts, options);
}
