import { controlOf, startOn } from "../../support/postgres-control.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";

export interface RestartableServer extends PostgresServer {
  /** Ends it as a crash does. */
  crash(): Promise<void>;
  /** Starts it again on the same port. */
  startAgain(): Promise<void>;
}

/** A server of the test's own, to be crashed. */
export async function restartableServer(): Promise<RestartableServer> {
  const server = await startPostgres();
  const control = controlOf(server.dataDir);
  return {
    ...server,
    crash: () => control("stop", "-m", "immediate"),
    startAgain: () => startOn(control, server),
  };
}
