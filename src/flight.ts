/** What a load gets. */
export interface LoadContext {
  /** Aborts when nobody waits for the value any more. */
  readonly signal: AbortSignal;
}

export type Load<T> = (context: LoadContext) => T | PromiseLike<T>;

/** Told of the end of a flight before those who wait for it, so that one of them can begin anew. */
export interface FlightHooks {
  onValue(value: unknown): void;
  onError(): void;
  /** Everyone has left; the load may still go on. */
  onAbandoned(): void;
}

interface Waiter {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** One load and those who wait for it, each of whom may leave without harm to the others. */
export class Flight {
  readonly #hooks: FlightHooks;
  readonly #waiters = new Set<Waiter>();
  readonly #controller = new AbortController();
  #settled = false;

  constructor(hooks: FlightHooks) {
    this.#hooks = hooks;
  }

  /** Calls `load`, after the first has joined. What it throws is a rejection like another. */
  start(load: Load<unknown>): void {
    const { signal } = this.#controller;
    new Promise((resolve) => resolve(load({ signal }))).then(
      (value) => {
        this.#settled = true;
        this.#hooks.onValue(value);
        this.#settle((waiter) => waiter.resolve(value));
      },
      (error: unknown) => {
        this.#settled = true;
        this.#hooks.onError();
        this.#settle((waiter) => waiter.reject(error));
      },
    );
  }

  /** Settles as the load does, or rejects with the signal's reason as soon as that aborts. */
  join(signal: AbortSignal | undefined): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiters.delete(waiter);
        reject(signal?.reason);
        if (this.#waiters.size === 0 && !this.#settled) this.#abandon();
      };
      const stay = () => signal?.removeEventListener("abort", leave);
      const waiter: Waiter = {
        resolve: (value) => {
          stay();
          resolve(value);
        },
        reject: (error) => {
          stay();
          reject(error);
        },
      };
      this.#waiters.add(waiter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #settle(tell: (waiter: Waiter) => void): void {
    for (const waiter of this.#waiters) tell(waiter);
    this.#waiters.clear();
  }

  /** Forgotten first: whoever asks in a listener of the signal begins anew. */
  #abandon(): void {
    this.#hooks.onAbandoned();
    this.#controller.abort(new DOMException("Nobody waits for this value any more", "AbortError"));
  }
}
