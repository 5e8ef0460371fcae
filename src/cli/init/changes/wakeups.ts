import { renderWakeups } from "../../../schema/index.ts";
import { type Change, inPlace, wholeFile } from "../change.ts";
import type { Migrations } from "../project.ts";
import type { MigrationTarget } from "./migration.ts";
import { nextStamp } from "./migration-name.ts";

const purpose = "the database calls the drain";
const name = "leasehold_wakeups";

/**
 * The wake-ups of a Supabase project: pg_cron asks once a minute, pg_net sends. Where there is such a
 * migration already it is the project's own by now, its schedule included.
 */
export function wakeups(migrations: Migrations, { schema, now }: MigrationTarget): Change[] {
  const { folder, names } = migrations;
  const written = migrations.wakeups.get(schema);
  if (written !== undefined) return [inPlace(written, purpose)];
  // A second later than the migration that brings the functions, which is planned as well.
  const stamp = nextStamp([...names, nextStamp(names, now)], now);
  return [wholeFile(`${folder}/${stamp}_${name}.sql`, purpose, renderWakeups({ schema }))];
}
