import { describeError } from "../describe-error.ts";
import { exitCodes } from "./exit-codes.ts";
import { debugText } from "./failure.ts";
import { printNote } from "./output.ts";
import { oneLine } from "./text-width.ts";

/**
 * The policy for errors of the user's code that nobody waits for.
 *
 * A rejected promise that a handler forgot is logged, and the drain goes on: it is nobody's outcome,
 * and ending the process would cost the job in hand an attempt. An exception outside of every
 * promise (in a timer) leaves the program in an unknown state, so the process ends; the lease of the
 * job in hand brings it back.
 */
export function surviveStrayErrors(): void {
  const tell = (what: string, error: unknown): void => {
    printNote(`leasehold: ${what}: ${oneLine(describeError(error).message)}`);
    const details = debugText(error);
    if (details !== undefined) printNote(details);
  };
  process.on("unhandledRejection", (reason) => {
    tell("a promise that nobody awaits was rejected, and the drain goes on", reason);
  });
  process.on("uncaughtException", (error) => {
    tell("an exception that nothing caught ends the process", error);
    printNote("The job in hand comes back when its lease runs out.");
    process.exit(exitCodes.failed);
  });
}
