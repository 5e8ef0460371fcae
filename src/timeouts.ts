import { maxTimerMs } from "./duration.ts";

/** One wait for a time; what `Timeouts.add` answers. */
export interface Timeout {
  /** By `performance.now()`. */
  readonly at: number;
  readonly onTime: () => void;
}

/**
 * Many timeouts on one timer. Nearly all of them are taken back long before their time: then each
 * costs its place in a set, and the timer is touched only by the first and the last.
 */
export class Timeouts {
  readonly #waiting = new Set<Timeout>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looksAt = Number.POSITIVE_INFINITY;

  /** Calls `onTime`, which must not throw, once after `ms`, unless it is taken back. */
  add(ms: number, onTime: () => void): Timeout {
    const timeout = { at: performance.now() + ms, onTime };
    this.#waiting.add(timeout);
    this.#lookAt(timeout.at);
    return timeout;
  }

  /** Takes it back; one that has come is gone already. */
  delete(timeout: Timeout): void {
    if (!this.#waiting.delete(timeout) || this.#waiting.size > 0) return;
    // Without anything to wait for it must not keep the process alive.
    clearTimeout(this.#timer);
    this.#looksAt = Number.POSITIVE_INFINITY;
  }

  #lookAt(at: number): void {
    if (at >= this.#looksAt) return;
    clearTimeout(this.#timer);
    this.#looksAt = at;
    const ms = Math.max(Math.ceil(at - performance.now()), 0);
    this.#timer = setTimeout(() => this.#look(), Math.min(ms, maxTimerMs));
  }

  /** Calls those that are due, the earliest first. */
  #look(): void {
    this.#looksAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    const due: Timeout[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const timeout of this.#waiting) {
      if (timeout.at <= now) due.push(timeout);
      else next = Math.min(next, timeout.at);
    }
    if (next < Number.POSITIVE_INFINITY) this.#lookAt(next);
    for (const timeout of due.sort((one, other) => one.at - other.at)) {
      // One that was called may have taken another back.
      if (this.#waiting.has(timeout)) {
        this.delete(timeout);
        timeout.onTime();
      }
    }
  }
}

/** Those of all attempts in this process. */
export const timeouts = new Timeouts();
