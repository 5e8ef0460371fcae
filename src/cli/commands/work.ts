import type { WorkOptions } from "../../work-options.ts";
import type { Worker } from "../../worker.ts";
import type { Argument, Given } from "../arguments.ts";
import { command } from "../command.ts";
import { formatCounts } from "../drain-report.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { usageError } from "../failure.ts";
import { type HealthServer, startHealthServer } from "../health-server.ts";
import { tellJobs, tellOwnError } from "../job-lines.ts";
import { durationOption, flag, integerOption, listOption, textOption } from "../option-values.ts";
import { keepStdoutForData, printData, printNote } from "../output.ts";
import { closePatiently, fileArgument, kindsArgument, openRunnable } from "../runnable-client.ts";
import { watchStopSignals } from "../stop-signals.ts";
import { surviveStrayErrors } from "../stray-errors.ts";

const args = {
  file: fileArgument,
  concurrency: { type: "string", valueHint: "n", description: "Jobs at a time (default: 10)" },
  kinds: kindsArgument,
  grace: {
    type: "string",
    valueHint: "duration",
    description: "At a stop handlers go on for so long (default: 25s)",
  },
  poll: {
    type: "string",
    valueHint: "duration",
    description: "How often an idle worker asks by itself (default: 5s, 30s after ten minutes)",
  },
  "listen-url": {
    type: "string",
    valueHint: "url",
    description: "For the listening connection, past a transaction pooler",
  },
  "no-listen": { type: "boolean", description: "Poll only: open no connection that listens" },
  name: { type: "string", valueHint: "text", description: "The worker's name, for diagnosis" },
  "health-port": {
    type: "string",
    valueHint: "port",
    description: "Answer GET /livez and /readyz on this port",
  },
  "health-host": {
    type: "string",
    valueHint: "address",
    description: "On this address alone (default: on all)",
  },
  verbose: { type: "boolean", description: "Tell of every job, also of those that complete" },
} as const satisfies Record<string, Argument>;

export const workCommand = command({
  name: "work",
  description: "Runs jobs as they come, until it is stopped",
  args,
  async run(given) {
    const options = optionsOf(given);
    const healthPort = integerOption(given, "health-port", { min: 0, max: 65_535 });
    const signals = watchStopSignals();
    surviveStrayErrors("worker");
    keepStdoutForData();
    const client = await openRunnable(given, tellOwnError);
    let worker: Worker | undefined;
    let server: HealthServer | undefined;
    try {
      if (healthPort !== undefined) {
        const address = { port: healthPort, host: textOption(given, "health-host") };
        server = await startHealthServer(address, () => worker?.health());
      }
      tellJobs(client, flag(given, "verbose"));
      worker = client.work(options);
      signals.begin(() => stop(worker));
      tellBegin(worker, server);
      const report = await worker.ended;
      printData(flag(given, "json") ? JSON.stringify(report) : formatCounts(report));
      return signals.exitCode ?? (exitCodes.done satisfies ExitCode);
    } finally {
      server?.close();
      await closePatiently(client);
    }
  },
});

function optionsOf(given: Given): WorkOptions {
  const concurrency = integerOption(given, "concurrency", { min: 1, max: 10_000 });
  const kinds = listOption(given, "kinds");
  const grace = durationOption(given, "grace", { min: 0, max: 86_400_000 });
  const poll = durationOption(given, "poll", { min: 50, max: 3_600_000 });
  const worker = textOption(given, "name");
  if (flag(given, "no-listen") && flag(given, "listen-url")) {
    throw usageError("--no-listen and --listen-url contradict each other.", "Give one of them.");
  }
  return {
    signals: false, // the command's own business
    ...(concurrency !== undefined && { concurrency }),
    ...(kinds !== undefined && { kinds }),
    ...(grace !== undefined && { grace }),
    ...(poll !== undefined && { poll }),
    ...(worker !== undefined && { worker }),
    ...(flag(given, "no-listen") && { listen: false }),
  };
}

/** What is to be told of a stop that has begun. */
function stop(worker: Worker | undefined): string {
  void worker?.stop();
  const running = worker?.health().running ?? 0;
  return running === 0 ? "Stopping" : `Stopping; jobs in hand: ${running}`;
}

function tellBegin(worker: Worker, server: HealthServer | undefined): void {
  const { concurrency } = worker.health();
  const health = server === undefined ? "" : ` Health on port ${server.port}.`;
  printNote(`Working as ${worker.name}, ${concurrency} at a time.${health}`);
}
