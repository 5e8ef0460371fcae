import type { Crew } from "./crew.ts";
import { leaseholdError } from "./errors.ts";
import { Stopping } from "./stopping.ts";

/**
 * Runs `task` after the answer was sent and keeps the process alive until it ends. Throws, or
 * rejects, where it can't; then nothing was started. It is waited for, so it must not wait for `task`.
 */
export type KeepAlive = (task: () => Promise<void>) => void | Promise<void>;

/** How work in the background is kept, and let go. */
export interface BackgroundOptions {
  readonly keepAlive: KeepAlive | undefined;
  /** How long it may go on after a signal, or after `close`, before it is told to stop. */
  readonly graceMs: number;
}

/** Work that goes on in this process when its caller has an answer, and ends before the process does. */
export class Background {
  readonly #options: BackgroundOptions;
  readonly #crew: Pick<Crew, "abort" | "asks">;
  readonly #tasks = new Set<Promise<void>>();
  #stopping: Stopping | undefined;
  #stopped = false;

  /** `crew` has the work in hand: it is told when the grace is over. */
  constructor(options: BackgroundOptions, crew: Pick<Crew, "abort" | "asks">) {
    this.#options = options;
    this.#crew = crew;
  }

  /** Whether it takes nothing more: it was stopped, or the process received a signal to end. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /**
   * Runs `work`, which must not reject, when the caller has its answer. Rejects where it would be cut
   * off: LH109, or what `keepAlive` throws.
   */
  async later(work: () => Promise<void>): Promise<void> {
    if (this.#stopped) throw stopping();
    const ended = new Deferred<void>();
    let refused = false;
    const task = async (): Promise<void> => {
      if (!refused) await work().finally(() => ended.resolve());
    };
    if (this.#options.keepAlive !== undefined) await this.#options.keepAlive(task);
    else if (globalThis.process?.env.VERCEL) throw noKeepAlive();
    else setTimeout(() => void task(), 0);
    refused = this.#stopped; // meanwhile, and nobody would wait for the work
    if (refused) throw stopping();
    this.#tasks.add(ended.promise);
    this.#stopping ??= this.#watch();
    void ended.promise.then(() => {
      this.#tasks.delete(ended.promise);
      if (this.#tasks.size > 0) return;
      this.#stopping?.end();
      this.#stopping = undefined;
    });
  }

  /**
   * Takes nothing more, lets the work end, then ends it; resolves when none is left. Called by the
   * work itself, it does not wait for that.
   */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopping?.begin("stop", this.#options.graceMs);
    if (this.#crew.asks()) return;
    const { overdue } = this.#stopping ?? {};
    while (this.#tasks.size > 0) {
      const ended = Promise.all(this.#tasks);
      await Promise.race(
        overdue === undefined ? [ended] : [ended, overdue.then(() => this.#tasks.clear())],
      );
    }
  }

  /** While there is work, a signal that ends the process is ours too. */
  #watch(): Stopping {
    return new Stopping(
      { signals: true, graceMs: this.#options.graceMs },
      {
        onStop: () => {
          this.#stopped = true;
        },
        onGraceOver: () => this.#crew.abort(),
      },
    );
  }
}

/** A promise with its ends in hand; Node 20 has no Promise.withResolvers. */
export class Deferred<T> {
  resolve!: (value: T) => void;
  reject!: (reason: unknown) => void;
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}

function noKeepAlive(): Error {
  return leaseholdError(
    "LH109",
    "On Vercel the function is frozen once it has answered, and the work with it",
    'Make the client with createLeasehold of leasehold/next, pass `keepAlive`, or set startIn: "worker".',
  );
}

function stopping(): Error {
  return leaseholdError(
    "LH109",
    "This process is stopping, so it starts no more jobs",
    "Try again: another process will take it.",
  );
}
