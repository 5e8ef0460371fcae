import type { DrainOptions, DrainReport } from "./drain.ts";
import { type Bounds, drainBounds, maxMaxJobs } from "./drain-bounds.ts";

type Drain = (options: DrainOptions) => Promise<DrainReport>;

/** Those who wait for the same drain to begin. */
interface Group {
  readonly key: string;
  askers: number;
  lastAskedAt: number;
  begun: boolean;
  /** Whether somebody has been told how it ended. */
  told: boolean;
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
   * came meanwhile. The time of a function counts from its request, so the wait counts against the
   * budget, and who has none left is let go while the drain goes on for those who asked later.
   * `maxJobs` counts for each who asked. What the drain rejects with is for the first who asked, of
   * those who are still there.
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
    return endFor(known ?? this.#wait(key, options, bounds), bounds.budgetMs);
  }

  #wait(key: string, options: DrainOptions, bounds: Bounds): Group {
    const group = { key, askers: 0, lastAskedAt: 0, begun: false, told: false } as Group;
    this.#waiting.push(group);
    group.ended = this.#append(async () => {
      const at = this.#waiting.indexOf(group);
      if (at < 0) return undefined;
      this.#waiting.splice(at, 1);
      const leftMs = Math.ceil(bounds.budgetMs - (performance.now() - group.lastAskedAt));
      // Such a drain would claim nothing: the one before it had all the time that there was.
      if (leftMs <= bounds.reserveMs) return undefined;
      group.begun = true;
      return this.#begin(options, bounds, leftMs, group.askers);
    });
    return group;
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

/** The end of a group's drain for one more who asks for it, at most `budgetMs` from now. */
function endFor(group: Group, budgetMs: number): Promise<DrainReport | undefined> {
  group.askers += 1;
  group.lastAskedAt = performance.now();
  const asker = group.askers;
  return new Promise((resolve, reject) => {
    let gone = false;
    const timer = setTimeout(() => {
      // The budget of a drain that has begun is the last asker's: it ends with it, and soon.
      if (group.begun && asker === group.askers) return;
      gone = true;
      resolve(undefined);
    }, budgetMs);
    const isFirst = (): boolean => {
      clearTimeout(timer);
      if (gone || group.told) return false;
      group.told = true;
      return true;
    };
    group.ended.then(
      (report) => resolve(isFirst() ? report : undefined),
      (error: unknown) => (isFirst() ? reject(error) : resolve(undefined)),
    );
  });
}

/** The same for drains that are one to those who ask. */
function keyOf({ worker, signal }: DrainOptions, bounds: Bounds): string {
  if (signal !== undefined) return crypto.randomUUID();
  const { budgetMs, reserveMs, lingerMs, maxJobs, kinds } = bounds;
  return JSON.stringify([budgetMs, reserveMs, lingerMs, maxJobs, kinds, worker]);
}
