import { describeError } from "../../describe-error.ts";
import type { DrainOptions, DrainReport } from "../../drain.ts";
import { maxTimerMs } from "../../duration.ts";
import { createLeasehold, type Leasehold } from "../../leasehold.ts";
import type { Argument, Given } from "../arguments.ts";
import { command } from "../command.ts";
import { databaseOf } from "../database.ts";
import { formatReport, reportJson } from "../drain-report.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { describeFailure, usageError } from "../failure.ts";
import { findRunnable, type Runnable } from "../handler-exports.ts";
import { importModule } from "../handler-file.ts";
import { durationOption, flag, integerOption, listOption } from "../option-values.ts";
import { keepStdoutForData, printData, printNote } from "../output.ts";
import { watchStopSignals } from "../stop-signals.ts";
import { surviveStrayErrors } from "../stray-errors.ts";
import { oneLine } from "../text-width.ts";

const closeTimeoutMs = 2_000;

const args = {
  file: {
    type: "positional",
    description:
      "The module (TypeScript or JavaScript) that exports what handle() answered, or a client",
  },
  budget: { type: "string", valueHint: "duration", description: "All its time (default: 240s)" },
  reserve: {
    type: "string",
    valueHint: "duration",
    description: "Claims nothing with less than this left (default: 30s)",
  },
  "max-jobs": { type: "string", valueHint: "n", description: "At most so many (default: 3)" },
  kinds: {
    type: "string",
    valueHint: "a,b",
    repeatable: true,
    description: "Only these of the module's kinds",
  },
} as const satisfies Record<string, Argument>;

export const drainCommand = command({
  name: "drain",
  description: "Runs due jobs, one after the other, until nothing is due or its bounds are reached",
  args,
  async run(given) {
    const options = optionsOf(given);
    const signals = watchStopSignals();
    surviveStrayErrors();
    keepStdoutForData();
    const file = given.positionals[0] ?? "";
    const client = clientOf(given, findRunnable(file, await importModule(file)));
    try {
      signals.drainBegins();
      const report = await client.drain(options);
      printData(flag(given, "json") ? reportJson(report) : formatReport(report));
      return signals.exitCode ?? tellEnd(report);
    } finally {
      await closePatiently(client);
    }
  },
});

function optionsOf(given: Given): DrainOptions {
  const budget = durationOption(given, "budget", { min: 1, max: maxTimerMs });
  const reserve = durationOption(given, "reserve", { min: 0, max: maxTimerMs });
  const maxJobs = integerOption(given, "max-jobs", { min: 1, max: 10_000 });
  const kinds = listOption(given, "kinds");
  if (budget !== undefined && reserve !== undefined && reserve >= budget) {
    throw usageError("--reserve is not less than --budget.", "Give a smaller reserve.");
  }
  return {
    ...(budget !== undefined && { budget }),
    ...(reserve !== undefined && { reserve }),
    ...(maxJobs !== undefined && { maxJobs }),
    ...(kinds !== undefined && { kinds }),
  };
}

/** The module's own client as it is, or one made of its handlers. */
function clientOf(given: Given, found: Runnable): Pick<Leasehold, "drain" | "close"> {
  if ("client" in found) {
    const own = ["schema", "database-url"].find((name) => flag(given, name));
    if (own === undefined) return found.client;
    const problem = "The module exports a client, which has a database of its own.";
    throw usageError(problem, `Leave out --${own}, or export the handlers instead of the client.`);
  }
  const client = createLeasehold({ database: databaseOf(given), handlers: found.handlers });
  client.on("error", ({ error, during }) => {
    printNote(`leasehold: during ${during}: ${oneLine(describeError(error).message)}`);
  });
  return client;
}

/** Jobs that failed are the jobs' business: the drain has done its work. */
function tellEnd({ reason, error }: DrainReport): ExitCode {
  if (reason !== "error") return exitCodes.done;
  printNote(describeFailure(error).text);
  return exitCodes.failed;
}

/**
 * A handler that was given up may hold a connection for ever, and closing would wait for it. The
 * report stands, also where closing fails: the process is about to end.
 */
async function closePatiently(client: Pick<Leasehold, "close">): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, closeTimeoutMs);
  });
  await Promise.race([client.close().catch(() => undefined), patience]);
  clearTimeout(timer);
}
