import { createLeasehold, type Leasehold, silentLogger } from "leasehold";
import { pg } from "leasehold/pg";
import { postgres } from "leasehold/postgres";
import pgDriver from "pg";
import postgresJs from "postgres";
import { chaosHandlers, type Outside } from "../handlers.ts";
import { openProvider } from "../provider.ts";

/** What the parent tells a child, by its environment. */
const {
  CHAOS_URL = "",
  CHAOS_PROVIDER_URL = "",
  CHAOS_STORAGE_URL = "",
  CHAOS_DRIVER = "pg",
} = process.env;

export interface ChildClient {
  readonly leasehold: Leasehold;
  /** Closes the client and everything that it was given. */
  close(): Promise<void>;
}

type Driver = Pick<Outside, "query"> & {
  readonly database: ReturnType<typeof pg>;
  end(): Promise<unknown>;
};

/** A client as an application makes it, over the driver that the parent chose. */
export function childClient(): ChildClient {
  const driver = CHAOS_DRIVER === "postgres" ? overPostgresJs() : overNodePostgres();
  const provider = openProvider(CHAOS_PROVIDER_URL);
  const handlers = chaosHandlers({ ...driver, provider, storageUrl: CHAOS_STORAGE_URL });
  const leasehold = createLeasehold({ database: driver.database, handlers, logger: silentLogger });
  return {
    leasehold,
    async close() {
      await leasehold.close();
      await Promise.all([driver.end(), provider.close()]);
    },
  };
}

/** With a time limit for each query, without which a connection that went dead is waited for for ever. */
function overNodePostgres(): Driver {
  const pool = new pgDriver.Pool({
    connectionString: CHAOS_URL,
    max: 6,
    connectionTimeoutMillis: 3_000,
    query_timeout: 5_000,
    keepAlive: true,
  });
  pool.on("error", () => undefined);
  return {
    database: pg(pool),
    query: (text, values) => pool.query(text, values),
    end: () => pool.end(),
  };
}

/**
 * postgres.js has no time limit for a query. Without `fetch_types: false` it asks for the types of arrays
 * at each connect, and awaits the answer nowhere: a connection lost just then would end the process.
 */
function overPostgresJs(): Driver {
  const sql = postgresJs(CHAOS_URL, {
    max: 6,
    connect_timeout: 3,
    fetch_types: false,
    onnotice: () => undefined,
  });
  return {
    database: postgres(sql),
    query: (text, values) => sql.unsafe(text, values as never),
    end: () => sql.end({ timeout: 1 }),
  };
}
