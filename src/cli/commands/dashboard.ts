import { dashboard } from "../../dashboard/index.ts";
import { createLeasehold } from "../../leasehold.ts";
import { silentLogger } from "../../logger.ts";
import type { Argument } from "../arguments.ts";
import { command } from "../command.ts";
import { isLoopback, startDashboardServer } from "../dashboard-server.ts";
import { databaseOf } from "../database.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { flag, integerOption, textOption } from "../option-values.ts";
import { printData, printNote } from "../output.ts";
import { watchStopSignals } from "../stop-signals.ts";

const defaultPort = 4620;
const defaultHost = "127.0.0.1";

const args = {
  port: { type: "string", valueHint: "port", description: `The port (default: ${defaultPort})` },
  host: {
    type: "string",
    valueHint: "address",
    description: `The address (default: ${defaultHost}, for this machine alone)`,
  },
  write: { type: "boolean", description: "Let the page act, too: otherwise it only shows" },
} as const satisfies Record<string, Argument>;

export const dashboardCommand = command({
  name: "dashboard",
  description: "Serves the page of the queue, for looking, on this machine",
  args,
  async run(given): Promise<ExitCode> {
    const port = integerOption(given, "port", { min: 0, max: 65_535 }) ?? defaultPort;
    const host = textOption(given, "host") ?? defaultHost;
    const role = flag(given, "write") ? "admin" : "read";
    const signals = watchStopSignals();
    const client = createLeasehold({
      database: databaseOf(given),
      logger: {
        ...silentLogger,
        error: (fields, message) => printNote(`${message} ${told(fields)}`),
      },
      housekeeping: false,
    });
    try {
      // A wrong URL, or a schema that is missing, is told here and not in the browser.
      await client.database.call("schema_version", {});
      const server = await startDashboardServer(
        { port, host },
        dashboard({ leasehold: client, authorize: () => ({ role, name: "the command line" }) }),
      );
      const stopped = new Promise<void>((resolve) => {
        signals.begin(() => {
          resolve();
          return "Stopping";
        });
      });
      printData(flag(given, "json") ? JSON.stringify({ url: server.url, role }) : server.url);
      if (role === "read") printNote("It only shows. With --write it acts, too.");
      if (!isLoopback(host))
        printNote("Whoever reaches this address sees it all, without a password.");
      await stopped;
      server.close();
      return signals.exitCode ?? exitCodes.done;
    } finally {
      await client.close();
    }
  },
});

function told(fields: object): string {
  const { err } = fields as { err?: { message?: unknown } };
  return String(err?.message ?? "");
}
