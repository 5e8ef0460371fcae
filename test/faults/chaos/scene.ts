import { createLeasehold, type Leasehold, silentLogger } from "leasehold";
import { pg as pgDatabase } from "leasehold/pg";
import { migrate } from "leasehold/schema";
import pg from "pg";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { Books } from "./books.ts";
import { Crew } from "./crew.ts";
import { createProvider } from "./provider.ts";
import { type ChaosServer, startServer } from "./server.ts";
import { type Storage, startStorage } from "./storage.ts";
import { createAppTables } from "./tables.ts";

/** So long does a call of the actors wait for its answer. */
export const callWithinMs = 2_500;

/** Everything of one run. */
export interface Scene {
  readonly books: Books;
  readonly server: ChaosServer;
  /** Straight to the server: for faults and checks, which no fault of the network hinders. */
  readonly direct: pg.Pool;
  /** The provider's database. */
  readonly provider: pg.Pool;
  readonly storage: Storage;
  readonly crew: Crew;
  /** The way of the actors, who share the client below. */
  readonly proxy: TcpProxy;
  readonly pool: pg.Pool;
  readonly leasehold: Leasehold;
  close(): Promise<void>;
}

/** Starts all of it: a server, two databases, a storage, a proxy and a process for each of the crew. */
export async function openScene(): Promise<Scene> {
  const books = new Books();
  const server = await startServer();
  const direct = openPool(server.url, 8);
  await direct.query("create database provider");
  const provider = openPool(server.urlOf("provider"), 2);
  await createProvider(provider);
  await createAppTables(direct);
  await migrate(pgDatabase(direct));
  const storage = await startStorage();
  const proxy = await startTcpProxy(server.url);
  const pool = openPool(proxy.url, 12, callWithinMs);
  const crew = await Crew.start({
    databaseUrl: server.url,
    providerUrl: server.urlOf("provider"),
    storageUrl: storage.url,
    blame: (what) => books.blame("no process ends unasked or warns", what),
  });
  const leasehold = createLeasehold({ database: pgDatabase(pool), logger: silentLogger });
  return {
    ...{ books, server, direct, provider, storage, crew, proxy, pool, leasehold },
    async close() {
      await crew.close();
      await leasehold.close();
      await Promise.all([direct.end(), provider.end(), pool.end()]);
      await proxy.close();
      await Promise.all([storage.close(), server.stop()]);
    },
  };
}

/** A call has a time limit, without which a connection that went dead is waited for for ever. */
function openPool(connectionString: string, max: number, limitMs = 30_000): pg.Pool {
  const limits = { connectionTimeoutMillis: 3_000, query_timeout: limitMs };
  const pool = new pg.Pool({ connectionString, max, ...limits });
  pool.on("error", ignore);
  // From its first moment: what ends a connection may come together with its readiness.
  pool.on("connect", (client) => client.on("error", ignore));
  return pool;
}

/** A lost connection is told by the statement that fails, too. */
const ignore = () => undefined;
