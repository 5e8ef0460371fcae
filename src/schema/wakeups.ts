import { quoteIdentifier } from "../database.ts";
import { invalidArgument } from "../errors.ts";
import { integer } from "../options.ts";
import { applySchemaName, checkSchemaName, isIdentifier, quoteLiteral } from "./schema-name.ts";
import { wakeups } from "./sql.generated.ts";

export interface WakeupOptions {
  /** The schema of leasehold, "leasehold" by default. The wake-ups get one beside it, `…_wakeups`. */
  schema?: string;
  /** How often pg_cron looks: a cron expression, or "10 seconds" (1 to 59). Default each minute. */
  schedule?: string;
  /** How long pg_net waits for the route, in milliseconds. Default 310,000: 10 s over a limit of 300 s. */
  timeoutMs?: number;
}

const everyMinute = "* * * * *";

/**
 * The SQL by which a database of Supabase's calls the route that drains: pg_cron where something is due,
 * and each enqueue, at most once a second, by pg_net. The address and the secret stand in Vault, as
 * `<schema>_drain_url` and `<schema>_drain_secret`. One script, to be run in one transaction behind
 * leasehold's own, and again at any time; where an extension is missing, that part stays quiet.
 *
 * Throws LH002 for options.
 */
export function renderWakeups({
  schema = "leasehold",
  schedule = everyMinute,
  timeoutMs = 310_000,
}: WakeupOptions = {}): string {
  checkSchemaName(schema);
  const own = `${schema}_wakeups`;
  if (!isIdentifier(own)) {
    throw invalidArgument("schema", schema, "a name of at most 55 bytes: the wake-ups add to it");
  }
  checkSchedule(schedule);
  integer("timeoutMs", timeoutMs, { min: 1_000, max: 2_147_483_647 });
  const text = wakeups
    .replace(/'[^']*' \/\* schedule \*\//, () => quoteLiteral(schedule))
    .replace(/\d+ \/\* timeout \*\//, String(timeoutMs));
  const named = applySchemaName(text, schema);
  // A comment ends with its line, and a name may have two.
  const plain = schema.replaceAll("'", "''").replaceAll(/\s/g, " ");
  const said = named.replaceAll(/^--.*$/gm, (line) => line.replaceAll("{{schema}}", () => plain));
  if (schema === "leasehold") return said;
  return said.replaceAll(/\bleasehold_wakeups\b/g, () => quoteIdentifier(own));
}

/** What it means is for pg_cron to judge; what has another shape is a slip. */
function checkSchedule(schedule: unknown): void {
  const shape = /^(?:[1-9]|[1-5]\d) seconds$|^[^\s']+(?: [^\s']+){4}$/;
  if (typeof schedule === "string" && schedule.length <= 100 && shape.test(schedule)) return;
  throw invalidArgument(
    "schedule",
    schedule,
    'a cron expression of five fields, such as "*/5 * * * *", or "10 seconds"',
  );
}
