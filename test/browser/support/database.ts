import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { restartableServer } from "../../worker/support/restartable.ts";

/** A PostgreSQL for one application. */
export interface AppDatabase {
  readonly url: string;
  // biome-ignore lint/suspicious/noExplicitAny: rows of any query.
  query(sql: string, values?: readonly unknown[]): Promise<Record<string, any>[]>;
  /** What the server has logged so far. */
  log(): string;
  /** Ends the server as a crash does. */
  crash(): Promise<void>;
  /** Starts it again after that, under the same URL. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server and installs leasehold's schema, by the command of the application's package. */
export async function startDatabase(appFolder: string): Promise<AppDatabase> {
  const server = await restartableServer();
  const { url } = server;
  const command = join(appFolder, "node_modules/leasehold/dist/cli/main.js");
  execFileSync(process.execPath, [command, "migrate"], {
    cwd: appFolder,
    env: { ...process.env, DATABASE_URL: url },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const pool = new pg.Pool({ connectionString: url, max: 2, application_name: "tests" });
  pool.on("error", () => undefined); // a crash breaks those that rest
  let isDown = false;
  const startAgain = async (): Promise<void> => {
    await server.startAgain();
    isDown = false;
  };
  return {
    url,
    query: async (sql, values) => (await pool.query(sql, values as unknown[])).rows,
    log: () => readFileSync(server.logFile, "utf8"),
    async crash() {
      await server.crash();
      isDown = true;
    },
    startAgain,
    async stop() {
      await pool.end();
      if (isDown) await startAgain(); // a server that is down can't be stopped
      await server.stop();
    },
  };
}
