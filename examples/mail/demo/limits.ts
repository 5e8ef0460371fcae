/** The demo was ended by a signal. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** How long the cleaning up may take. */
const cleaningMs = 20_000;

/** Two signals so close to each other are one: a terminal's, and npm's that hands it on. */
const oneSignalMs = 500;

/**
 * What ends the demo from outside: a limit of time, so that it can never hang, and signals such as
 * that of Ctrl-C. A second signal ends the process without cleaning up.
 */
export class Limits {
  readonly #ended: Promise<never>;
  #end: (error: Error) => void = () => {};
  #signalAt: number | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(limitMs: number) {
    this.#ended = new Promise((_, reject) => {
      this.#end = reject;
    });
    this.#ended.catch(() => {}); // whoever waits in `of` is told
    this.#timer = setTimeout(() => {
      this.#end(new Error(`The demo was not done within ${Math.round(limitMs / 1_000)} s.`));
    }, limitMs);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => this.#interrupt(signal));
    }
    // As with `| head`: nobody reads on, but what is up must be taken down all the same.
    process.stdout.on("error", () => this.#end(new Interrupted("Nobody reads the output.")));
  }

  /** What `work` resolves to, if it does so in time. What else it does ends with what it works on. */
  of<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#ended]);
  }

  /** The work is over; what follows is the cleaning up, and that has a limit of its own. */
  cleaning(): void {
    clearTimeout(this.#timer);
    setTimeout(() => {
      console.error("Cleaning up took too long.");
      process.exit(1);
    }, cleaningMs).unref();
  }

  #interrupt(signal: string): void {
    const now = performance.now();
    this.#signalAt ??= now;
    if (now - this.#signalAt > oneSignalMs) process.exit(130);
    this.#end(new Interrupted(`Ended by ${signal}.`));
  }
}
