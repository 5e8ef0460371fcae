import { renderSql } from "../../../schema/index.ts";
import { schemaChecksum, schemaVersion } from "../../../schema/render.ts";
import { exitCodes } from "../../exit-codes.ts";
import { CliError } from "../../failure.ts";
import { type Change, inPlace, wholeFile } from "../change.ts";
import type { Migrations, OwnMigration } from "../project.ts";
import { addToJournal } from "./drizzle-journal.ts";
import { type KnexStyle, knexMigration } from "./knex-migration.ts";
import { nextDrizzlePrefix, nextStamp } from "./migration-name.ts";

const purpose = "leasehold's tables and functions";

/** What a migration is made for. */
export interface MigrationTarget {
  readonly schema: string;
  readonly now: Date;
  /** Whether a `.js` file is an ES module. */
  readonly esm: boolean;
}

/**
 * The migration that installs leasehold, where none does yet; one that upgrades it, where the newest
 * was written by another version; none where that has the SQL of today. Throws a CliError where a newer
 * leasehold wrote it.
 */
export function migration(migrations: Migrations, target: MigrationTarget): Change[] {
  const newest = migrations.own.filter(({ schema }) => schema === target.schema).at(-1);
  if (newest === undefined) return filesOf(migrations, "leasehold", purpose, target);
  if (newest.version > schemaVersion) throw newerError(newest);
  if (newest.checksum === schemaChecksum) return [inPlace(newest.path, purpose)];
  return filesOf(migrations, "leasehold_upgrade", "leasehold of this version", target);
}

function filesOf(
  { tool, folder, names, typescript }: Migrations,
  name: string,
  why: string,
  { schema, now, esm }: MigrationTarget,
): Change[] {
  const sql = renderSql({ schema });
  const stamped = `${nextStamp(names, now)}_${name}`;
  switch (tool) {
    case "supabase":
      return [wholeFile(`${folder}/${stamped}.sql`, why, sql)];
    case "prisma":
      return [
        wholeFile(`${folder}/${stamped}/migration.sql`, why, sql),
        ...(names.includes("migration_lock.toml") ? [] : [prismaLock(folder)]),
      ];
    case "drizzle": {
      const tag = `${nextDrizzlePrefix(names, now)}_${name}`;
      return [wholeFile(`${folder}/${tag}.sql`, why, sql), addToJournal(folder, tag, now)];
    }
    case "knex": {
      const style: KnexStyle = { typescript, esm };
      const module = `${folder}/${stamped}.${typescript ? "ts" : "js"}`;
      return [
        wholeFile(`${folder}/${stamped}.sql`, why, sql),
        wholeFile(module, "runs that file", knexMigration(`${stamped}.sql`, style)),
      ];
    }
  }
}

/** Prisma refuses a folder of migrations that does not say what they are for. */
function prismaLock(folder: string): Change {
  const text = 'provider = "postgresql"\n';
  return wholeFile(`${folder}/migration_lock.toml`, "says that they are for PostgreSQL", text);
}

function newerError({ path, version }: OwnMigration): CliError {
  return new CliError(
    exitCodes.failed,
    `${path} installs version ${version} of the schema, newer than version ${schemaVersion} of this leasehold.`,
    "Nothing was written. Upgrade the leasehold package.",
  );
}
