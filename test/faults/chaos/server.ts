import { setTimeout as pause } from "node:timers/promises";
import { postmasterOf } from "../../support/postgres-control.ts";
import { restartableServer } from "../../worker/support/restartable.ts";

/*
 * The server runs with the tests' settings, fsync off. That loses nothing here: a server process that
 * is killed leaves what it has written to the operating system, and a commit is acknowledged after its
 * write (synchronous_commit is on). Only a crash of the operating system would need fsync.
 */

export interface ChaosServer {
  readonly url: string;
  /** The same server, another database. */
  urlOf(database: string): string;
  /** Ends it as a crash does ("immediate"), or kills its first process, and starts it again. */
  crashAndRestart(how: "immediate" | "killed"): Promise<void>;
  stop(): Promise<void>;
}

export async function startServer(): Promise<ChaosServer> {
  const server = await restartableServer();
  const urlOf = (database: string) =>
    Object.assign(new URL(server.url), { pathname: database }).href;
  return {
    url: server.url,
    urlOf,
    async crashAndRestart(how) {
      if (how === "killed") process.kill(postmasterOf(server.dataDir), "SIGKILL");
      else await server.crash();
      await startedAgain(server.startAgain);
    },
    stop: server.stop,
  };
}

/** PostgreSQL refuses to start while backends of the server that was killed are still ending. */
async function startedAgain(start: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      if (attempt === 40) throw error;
      await pause(250);
    }
  }
}
