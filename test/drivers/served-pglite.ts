import pg from "pg";
import type { OwnPGlite } from "../../src/pglite/like.ts";
import { ownPGlite } from "../../src/pglite/own.ts";
import { serveWire, type WireServer } from "../../src/pglite/wire/server.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

/** A migrated PGlite in memory that listens as a PostgreSQL does. */
export interface ServedPGlite {
  readonly server: WireServer;
  readonly db: TestDatabase;
  readonly own: OwnPGlite;
  /** A connection of its own, ended with the server. */
  connect(options?: pg.ClientConfig): Promise<pg.Client>;
  close(): Promise<void>;
}

export async function servePGlite(): Promise<ServedPGlite> {
  const db = await openTestDatabase("pglite");
  const own = ownPGlite(db.pglite);
  const server = await serveWire(own);
  const clients: pg.Client[] = [];
  return {
    server,
    db,
    own,
    async connect(config) {
      const client = new pg.Client({ connectionString: server.url, ...config });
      client.on("error", () => undefined); // some tests are about just that
      clients.push(client);
      await client.connect();
      return client;
    },
    async close() {
      await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
      await server.close();
      await db.close();
    },
  };
}
