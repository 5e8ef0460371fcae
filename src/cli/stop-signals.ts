import { exitCodes } from "./exit-codes.ts";
import { printNote } from "./output.ts";

/** What a command that runs jobs needs to know of the signals that ask its process to end. */
export interface StopSignals {
  /**
   * From here on a first signal calls `stop` instead of ending the process. It answers what is to be
   * told.
   */
  begin(stop: (signal: "SIGTERM" | "SIGINT") => string): void;
  /** What the process ends with; undefined while no signal came. */
  readonly exitCode: 130 | 143 | undefined;
}

/** npm and npx hand a Ctrl-C on that the terminal has sent already: that is one, not two. */
const sameSignalMs = 300;

/**
 * Watches for SIGTERM and SIGINT for the rest of the process. A second signal ends it at once, and
 * the leases of the jobs in hand bring them back.
 *
 * That somebody listens here keeps the library from sending the signal again when it has stopped, so
 * that the report is printed and the exit code is ours.
 */
export function watchStopSignals(): StopSignals {
  let begun: ((signal: "SIGTERM" | "SIGINT") => string) | undefined;
  let exitCode: StopSignals["exitCode"];
  let askedAt = 0;

  function onSignal(signal: "SIGTERM" | "SIGINT", code: 130 | 143): void {
    if (exitCode !== undefined) {
      if (performance.now() - askedAt >= sameSignalMs) process.exit(code);
      return;
    }
    exitCode = code;
    askedAt = performance.now();
    if (begun === undefined) process.exit(code);
    const again = signal === "SIGINT" ? "; Ctrl-C again ends at once" : "";
    printNote(`${begun(signal)}${again}.`);
  }

  process.on("SIGTERM", () => onSignal("SIGTERM", exitCodes.terminated));
  process.on("SIGINT", () => onSignal("SIGINT", exitCodes.interrupted));
  return {
    begin(stop) {
      begun = stop;
    },
    get exitCode() {
      return exitCode;
    },
  };
}
