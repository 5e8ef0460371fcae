/**
 * A wait that others can cut short. One waits at a time. A ring that comes while nobody waits is
 * kept, so that none is lost between looking and waiting.
 */
export class Alarm {
  #rung = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wake: (() => void) | undefined;

  /** Ends the wait that is under way, or the next one. */
  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Resolves at the next ring, or `at` by `performance.now()`. */
  async until(at: number): Promise<void> {
    const ms = at - performance.now();
    if (!this.#rung && ms > 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (ms < Number.POSITIVE_INFINITY) {
          this.#timer = setTimeout(resolve, Math.min(Math.ceil(ms), 2 ** 31 - 1));
        }
      });
      this.#wake = undefined;
      clearTimeout(this.#timer);
    }
    this.#rung = false;
  }
}
