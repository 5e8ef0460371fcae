import { spawn } from "node:child_process";
import { findBinaries, serverUser } from "../../support/postgres-binaries.ts";
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
  const user = serverUser();
  const { pg_ctl } = findBinaries(user);
  const run = (args: string[]) =>
    new Promise<void>((resolve, reject) => {
      const child = spawn(pg_ctl, args, { ...user, cwd: "/", stdio: "ignore" });
      child.once("error", reject);
      child.once("exit", (code) => {
        if (code === 0) resolve();
        else reject(new Error(`pg_ctl ${args[0]} ended with ${code}`));
      });
    });
  const options = `-c listen_addresses=127.0.0.1 -c port=${server.port}`;
  const own = ["-w", "-s", "-D", server.dataDir];
  return {
    ...server,
    crash: () => run(["stop", ...own, "-m", "immediate"]),
    startAgain: () => run(["start", ...own, "-l", server.logFile, "-o", options]),
  };
}
