import { describeError } from "../describe-error.ts";
import { exitCodes } from "./exit-codes.ts";
import { debugText } from "./failure.ts";
import { printNote } from "./output.ts";
import { oneLine } from "./text-width.ts";

/**
 * The policy for errors of the user's code that nobody waits for.
 *
 * A rejected promise that a handler forgot is logged, and the work goes on: it is nobody's outcome,
 * and ending the process would cost the jobs in hand an attempt. An exception outside of every
 * promise (in a timer) ends a drain, which has one job in hand and whose caller starts the next one;
 * the lease brings the job back. A worker has many, of which at most one is to blame: it goes on.
 */
export function surviveStrayErrors(command: "drain" | "worker"): void {
  process.on("unhandledRejection", (reason) => {
    tell(`a promise that nobody awaits was rejected, and the ${command} goes on`, reason);
  });
  process.on("uncaughtException", (error) => {
    if (command === "worker") {
      tell("an exception that nothing caught, and the worker goes on", error);
      return;
    }
    tell("an exception that nothing caught ends the process", error);
    printNote("The job in hand comes back when its lease runs out.");
    process.exit(exitCodes.failed);
  });
}

function tell(what: string, error: unknown): void {
  printNote(`leasehold: ${what}: ${oneLine(describeError(error).message)}`);
  const details = debugText(error);
  if (details !== undefined) printNote(details);
}
