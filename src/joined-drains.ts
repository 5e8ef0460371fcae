import type { DrainOptions, DrainReport } from "./drain.ts";
import { type Bounds, drainBounds, maxMaxJobs } from "./drain-bounds.ts";

type Drain = (options: DrainOptions) => Promise<DrainReport>;

/** Those who wait for the same drain to begin. */
interface Group {
  readonly key: string;
  askers: number;
  lastAskedAt: number;
  ended: Promise<DrainReport | undefined>;
}

/**
 * The drains of one process that requests ask for, at about the same time: one runs, and those who ask
 * meanwhile get one more after it, together, since the jobs that they enqueued may have come behind its
 * last look. Drains with other bounds, or a signal, join nobody, but wait for their turn as well.
 */
export class JoinedDrains {
  readonly #drain: Drain;
  readonly #kinds: readonly string[];
  readonly #waiting: Group[] = [];
  /** The end of all that was asked for; undefined while nothing runs. */
  #last: Promise<void> | undefined;

  /** `kinds` are those that have a handler. */
  constructor(drain: Drain, kinds: readonly string[]) {
    this.#drain = drain;
    this.#kinds = kinds;
  }

  /**
   * Resolves when a drain has ended that began after this call: with its report, or with undefined where
   * the report is another's who asked for the same one before, or no time was left for it, or SIGTERM
   * came meanwhile. The time of
   * a function counts from its request, so the wait counts against the budget; `maxJobs` counts for
   * each who asked. What the drain rejects with is for the first who asked alone.
   *
   * Rejects with LH002 to LH004 for options.
   */
  async run(options: DrainOptions): Promise<DrainReport | undefined> {
    const bounds = drainBounds(options, this.#kinds);
    if (this.#last === undefined) {
      return this.#append(() => this.#begin(options, bounds, bounds.budgetMs, 1));
    }
    const key = keyOf(options, bounds);
    const known = this.#waiting.find((group) => group.key === key);
    if (known === undefined) return this.#wait(key, options, bounds);
    known.askers += 1;
    known.lastAskedAt = performance.now();
    await known.ended.catch(() => undefined);
    return undefined;
  }

  #wait(key: string, options: DrainOptions, bounds: Bounds): Group["ended"] {
    const group = { key, askers: 1, lastAskedAt: performance.now() } as Group;
    this.#waiting.push(group);
    group.ended = this.#append(async () => {
      const at = this.#waiting.indexOf(group);
      if (at < 0) return undefined;
      this.#waiting.splice(at, 1);
      const leftMs = Math.ceil(bounds.budgetMs - (performance.now() - group.lastAskedAt));
      // Such a drain would claim nothing: the one before it had all the time that there was.
      if (leftMs <= bounds.reserveMs) return undefined;
      return this.#begin(options, bounds, leftMs, group.askers);
    });
    return group.ended;
  }

  async #begin(options: DrainOptions, bounds: Bounds, budget: number, askers: number) {
    const maxJobs = Math.min(bounds.maxJobs * askers, maxMaxJobs);
    const report = await this.#drain({ ...options, budget, reserve: bounds.reserveMs, maxJobs });
    // The process is ending, and those who wait would claim as if it were not.
    if (report.reason === "sigterm") this.#waiting.length = 0;
    return report;
  }

  /** Runs `next` when all that was asked for before has ended; at once where nothing was. */
  #append<T>(next: () => Promise<T>): Promise<T> {
    const ended = this.#last === undefined ? next() : this.#last.then(next);
    const over = (): void => {
      if (this.#last === last) this.#last = undefined;
    };
    const last: Promise<void> = ended.then(over, over);
    this.#last = last;
    return ended;
  }
}

/** The same for drains that are one to those who ask. */
function keyOf({ worker, signal }: DrainOptions, bounds: Bounds): string {
  if (signal !== undefined) return crypto.randomUUID();
  const { budgetMs, reserveMs, lingerMs, maxJobs, kinds } = bounds;
  return JSON.stringify([budgetMs, reserveMs, lingerMs, maxJobs, kinds, worker]);
}
