/** What an instance tells its platform. */
export type Report =
  /** It is ready for requests. */
  | { readonly type: "serves"; readonly port: number }
  /** A request has come in. */
  | { readonly type: "begins"; readonly invocation: string }
  /** An invocation has sent its response, and the work behind it has ended. */
  | { readonly type: "over"; readonly invocation: string }
  /** It has received SIGTERM. */
  | { readonly type: "ending" }
  | HandledReport
  | DrainedReport
  | { readonly type: "lost"; readonly id: string; readonly generation: number }
  | { readonly type: "error"; readonly during: string; readonly text: string }
  /** A handler has come to its middle, where it waits for a word of the test. */
  | { readonly type: "middle"; readonly id: string }
  /** It has heard it, and goes on. */
  | { readonly type: "goes on"; readonly id: string };

/** A handler begins its run. */
export interface HandledReport {
  readonly type: "handled";
  readonly id: string;
  readonly key: string;
  readonly generation: number;
  readonly attempt: number;
}

/** A drain has ended. */
export interface DrainedReport {
  readonly type: "drained";
  readonly reason: string;
  readonly processed: number;
  readonly jobs: readonly {
    readonly id: string;
    readonly generation: number;
    readonly outcome: string;
    readonly code: string | null;
  }[];
}

/** Tells the platform; resolves when the message is written, so that a death may follow. */
export function tell(report: Report): Promise<void> {
  return new Promise((resolve) => {
    if (process.send) process.send(report, () => resolve());
    else resolve();
  });
}

/** Resolves when the test says this word to the instance. */
export function word(expected: string): Promise<void> {
  return new Promise((resolve) => {
    const hear = (message: unknown): void => {
      if (message !== expected) return;
      process.off("message", hear);
      resolve();
    };
    process.on("message", hear);
  });
}
