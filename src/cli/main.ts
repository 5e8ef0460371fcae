#!/usr/bin/env node
import { exitCodes } from "./exit-codes.ts";
import { debugText, describeFailure } from "./failure.ts";
import { flushOutput, ignoreClosedPipes, printNote } from "./output.ts";
import { runProgram } from "./program.ts";

ignoreClosedPipes();
let exitCode: number = exitCodes.failed;
try {
  exitCode = await runProgram(process.argv.slice(2));
} catch (error) {
  const failure = describeFailure(error);
  exitCode = failure.exitCode;
  printNote(failure.text);
  const details = debugText(error);
  if (details !== undefined) printNote(details);
}
await flushOutput();
// Not left to the event loop: a handler that was given up, or a pool of its module's, may keep it.
process.exit(exitCode);
