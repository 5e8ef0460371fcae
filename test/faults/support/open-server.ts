import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { controlOf, startOn } from "../../support/postgres-control.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";

/** A server that takes connections from these addresses too, on whatever network they come in. */
export async function serverOpenTo(addresses: string): Promise<PostgresServer> {
  const server = await startPostgres();
  const control = controlOf(server.dataDir);
  appendFileSync(join(server.dataDir, "pg_hba.conf"), `host all all ${addresses} trust\n`);
  await control("stop", "-m", "fast");
  await startOn(control, server, "0.0.0.0");
  return server;
}
