/** One drain: how long it may take, in milliseconds, and for how many that asked it stands. */
export type Drain = (budgetMs: number, askers: number) => Promise<void>;

/** Those who asked while a drain ran. */
interface Following {
  askers: number;
  lastAskedAt: number;
  ended: Promise<void>;
}

/**
 * Drains of one process that many ask for at about the same time: one runs, and those who ask meanwhile
 * get one more after it, together. The jobs that they enqueued may have come behind its last look.
 */
export class JoinedDrains {
  readonly #drain: Drain;
  readonly #budgetMs: number;
  #running: Promise<void> | undefined;
  #following: Following | undefined;

  constructor(budgetMs: number, drain: Drain) {
    this.#budgetMs = budgetMs;
    this.#drain = drain;
  }

  /** Resolves when a drain has ended that began after this call; never rejects if drains do not. */
  async run(): Promise<void> {
    if (this.#running === undefined) {
      await this.#begin(this.#budgetMs, 1);
      return;
    }
    this.#following ??= {
      askers: 0,
      lastAskedAt: 0,
      ended: this.#running.then(() => this.#follow()),
    };
    this.#following.askers += 1;
    this.#following.lastAskedAt = performance.now();
    await this.#following.ended;
  }

  #begin(budgetMs: number, askers: number): Promise<void> {
    const running = this.#drain(budgetMs, askers).finally(() => {
      if (this.#running === running && this.#following === undefined) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  /** The wait counts against the budget: the time of a function counts from its request. */
  async #follow(): Promise<void> {
    const { askers, lastAskedAt } = this.#following as Following;
    this.#following = undefined;
    await this.#begin(Math.ceil(this.#budgetMs - (performance.now() - lastAskedAt)), askers);
  }
}
