import type { DrainOptions, DrainReport } from "../../drain.ts";
import { maxMaxJobs } from "../../drain-bounds.ts";
import { maxTimerMs } from "../../duration.ts";
import type { Argument, Given } from "../arguments.ts";
import { command } from "../command.ts";
import { formatReport, reportJson } from "../drain-report.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { describeFailure, usageError } from "../failure.ts";
import { durationOption, flag, integerOption, listOption } from "../option-values.ts";
import { keepStdoutForData, printData, printNote } from "../output.ts";
import {
  closePatiently,
  fileArgument,
  kindsArgument,
  openRunnable,
  tellError,
} from "../runnable-client.ts";
import { watchStopSignals } from "../stop-signals.ts";
import { surviveStrayErrors } from "../stray-errors.ts";

const args = {
  file: fileArgument,
  budget: { type: "string", valueHint: "duration", description: "All its time (default: 240s)" },
  reserve: {
    type: "string",
    valueHint: "duration",
    description: "Claims nothing with less than this left (default: 30s)",
  },
  "max-jobs": { type: "string", valueHint: "n", description: "At most so many (default: 3)" },
  kinds: kindsArgument,
} as const satisfies Record<string, Argument>;

export const drainCommand = command({
  name: "drain",
  description: "Runs due jobs, one after the other, until nothing is due or its bounds are reached",
  args,
  async run(given) {
    const options = optionsOf(given);
    const signals = watchStopSignals();
    surviveStrayErrors("drain");
    keepStdoutForData();
    const client = await openRunnable(given, tellError);
    try {
      signals.begin((signal) => {
        // A drain listens for SIGTERM itself: it claims nothing more and finishes the job in hand.
        if (signal === "SIGINT") process.emit("SIGTERM", "SIGTERM");
        return "Stopping after the job in hand";
      });
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
  const maxJobs = integerOption(given, "max-jobs", { min: 1, max: maxMaxJobs });
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

/** Jobs that failed are the jobs' business: the drain has done its work. */
function tellEnd({ reason, error }: DrainReport): ExitCode {
  if (reason !== "error") return exitCodes.done;
  printNote(describeFailure(error).text);
  return exitCodes.failed;
}
