import { onTermination, type Termination, type TerminationOptions } from "./termination.ts";
import { unreferenced } from "./unreferenced.ts";
import type { WorkSettings } from "./work-options.ts";
import type { WorkReport } from "./work-report.ts";

export interface StoppingHooks {
  /** Once: nothing more is to be claimed. */
  onStop(): void;
  /** Once, where it has not ended by then: the jobs in hand are to be told. */
  onGraceOver(): void;
}

/** After the end of the grace a worker ends within this, whatever its handlers and database do. */
const overdueMs = 2_000;

/** How long the application has to end by itself when its worker was stopped by a signal. */
const afterEndMs = 1_000;

/** npm hands a Ctrl-C on that the terminal has sent already: that is one signal, not two. */
const sameSignalMs = 300;

/** How a worker comes to its end: by `stop` or a signal, through a grace, with a last deadline. */
export class Stopping {
  /** Resolves when it is to stop. */
  readonly asked: Promise<void>;
  /** Resolves when nothing is to be waited for any more. */
  readonly overdue: Promise<void>;
  reason: WorkReport["reason"] = "stop";
  readonly #hooks: StoppingHooks;
  readonly #termination: Termination | undefined;
  #ask: () => void = () => undefined;
  #expire: () => void = () => undefined;
  #stopping = false;
  #graceEndsAt = Number.POSITIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #signalledAt: number | undefined;

  constructor(
    { signals, graceMs }: Pick<WorkSettings, "signals" | "graceMs">,
    hooks: StoppingHooks,
    process?: TerminationOptions["process"],
  ) {
    this.#hooks = hooks;
    this.asked = new Promise((resolve) => {
      this.#ask = resolve;
    });
    this.overdue = new Promise((resolve) => {
      this.#expire = resolve;
    });
    if (!signals) return;
    const onSignal = () => this.#signalled(graceMs);
    this.#termination = onTermination({
      signals: ["SIGTERM", "SIGINT"],
      onSignal,
      ...(process !== undefined && { process }),
    });
    if (this.#termination.received) queueMicrotask(onSignal);
  }

  /** Begins to stop, or shortens the grace. */
  begin(reason: WorkReport["reason"], graceMs: number): void {
    const endsAt = performance.now() + graceMs;
    if (endsAt < this.#graceEndsAt) {
      this.#graceEndsAt = endsAt;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#graceOver(), graceMs);
    }
    if (this.#stopping) return;
    this.#stopping = true;
    this.reason = reason;
    this.#hooks.onStop();
    this.#ask();
  }

  /** It has ended. A signal that is nobody else's is sent again, and ends the process. */
  end(): void {
    clearTimeout(this.#timer);
    this.#graceEndsAt = Number.NEGATIVE_INFINITY;
    this.#expire();
    const leave = () => this.#termination?.stopWatching();
    if (this.#signalledAt === undefined) leave();
    // What awaits the worker's end has its own to close; the process may end by itself before.
    else unreferenced(setTimeout(leave, afterEndMs));
  }

  #graceOver(): void {
    this.#graceEndsAt = Number.NEGATIVE_INFINITY;
    this.#timer = setTimeout(this.#expire, overdueMs);
    this.#hooks.onGraceOver();
  }

  /** The second signal ends the process at once, unless somebody else listens for it. */
  #signalled(graceMs: number): void {
    const now = performance.now();
    if (this.#signalledAt === undefined) {
      this.#signalledAt = now;
      this.begin("signal", graceMs);
    } else if (now - this.#signalledAt >= sameSignalMs) {
      this.#termination?.stopWatching();
    }
  }
}
