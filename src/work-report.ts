import type { FinishedJob } from "./finish.ts";

type Counts = Record<FinishedJob["outcome"], number>;

/** What a worker did from its start to its end. */
export interface WorkReport extends Readonly<Counts> {
  /** Why it ended: `stop` was called, SIGTERM or SIGINT came, or it could not begin. */
  readonly reason: "stop" | "signal" | "failed";
  /** How many attempts ended: the sum of the counts. */
  readonly processed: number;
  readonly durationMs: number;
}

/** Counts how attempts end, in the space of a few numbers however many there are. */
export class Tally {
  readonly #startedAt = performance.now();
  readonly #counts: Counts = {
    completed: 0,
    failed: 0,
    retried: 0,
    released: 0,
    cancelled: 0,
    lost: 0,
    unrecorded: 0,
  };
  processed = 0;

  add({ outcome }: FinishedJob): void {
    this.#counts[outcome] += 1;
    this.processed += 1;
  }

  report(reason: WorkReport["reason"]): WorkReport {
    const durationMs = Math.round(performance.now() - this.#startedAt);
    return { reason, processed: this.processed, ...this.#counts, durationMs };
  }
}
