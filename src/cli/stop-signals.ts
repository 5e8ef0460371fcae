import { exitCodes } from "./exit-codes.ts";
import { printNote } from "./output.ts";

/** What a drain needs to know of the signals that ask its process to end. */
export interface StopSignals {
  /** From here on a first signal lets the job in hand end, instead of ending the process. */
  drainBegins(): void;
  /** What the process ends with; undefined while no signal came. */
  readonly exitCode: 130 | 143 | undefined;
}

/** npm and npx hand a Ctrl-C on that the terminal has sent already: that is one, not two. */
const sameCtrlCMs = 300;

/**
 * Watches for SIGTERM and SIGINT for the rest of the process.
 *
 * A drain listens for SIGTERM itself: it claims nothing more and finishes the job in hand. That
 * somebody listens here as well keeps it from sending the signal again at its end, so that the
 * report is printed and the exit code is ours. A first Ctrl-C does the same by telling SIGTERM's
 * listeners; a second one ends the process at once, and the job's lease brings it back.
 */
export function watchStopSignals(): StopSignals {
  let draining = false;
  let exitCode: StopSignals["exitCode"];
  let askedAt = 0;

  function stop(code: 130 | 143, more: string): void {
    exitCode = code;
    askedAt = performance.now();
    if (!draining) process.exit(code);
    printNote(`Stopping after the job in hand${more}.`);
  }

  process.on("SIGTERM", () => {
    if (exitCode === undefined) stop(exitCodes.terminated, "");
  });
  process.on("SIGINT", () => {
    if (exitCode !== undefined) {
      if (performance.now() - askedAt >= sameCtrlCMs) process.exit(exitCodes.interrupted);
      return;
    }
    stop(exitCodes.interrupted, "; Ctrl-C again ends at once");
    process.emit("SIGTERM", "SIGTERM");
  });
  return {
    drainBegins() {
      draining = true;
    },
    get exitCode() {
      return exitCode;
    },
  };
}
