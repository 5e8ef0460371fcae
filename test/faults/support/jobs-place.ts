import nodePostgres from "pg";
import { pg } from "../../../src/pg/index.ts";
import { migrate } from "../../../src/schema/index.ts";
import { until } from "../../drain/support/client.ts";
import { firstValue, type Queryable } from "../../support/queryable.ts";
import { effectsTable } from "./effects.ts";

/** A database with the schema and the table of effects, and what a test asks of it. */
export interface JobsPlace extends Queryable {
  readonly database: Required<ReturnType<typeof pg>>;
  /** Resolves when no job is unfinished. */
  finished(withinMs?: number): Promise<void>;
  close(): Promise<void>;
}

/** Looks at a database that is installed already. */
export function placeAt(url: string): JobsPlace {
  const pool = new nodePostgres.Pool({ connectionString: url, max: 6 });
  pool.on("error", () => undefined); // its server is killed
  const query: Queryable["query"] = async (text, values) => (await pool.query(text, values)).rows;
  const { value } = firstValue({ query });
  const unfinished =
    "select count(*)::int from leasehold.jobs where status in ('queued', 'running')";
  return {
    query,
    value,
    database: pg(pool),
    finished: (withinMs = 40_000) =>
      until(async () => (await value(unfinished)) === 0, "the end of every job", withinMs).then(
        () => undefined,
      ),
    close: () => pool.end(),
  };
}

/** Installs the schema and the table. */
export async function installAt(url: string): Promise<JobsPlace> {
  const place = placeAt(url);
  await migrate(place.database);
  await place.query(effectsTable);
  return place;
}
