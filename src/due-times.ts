/** Of more than these the next poll tells. */
const atMost = 1_000;

/**
 * When the jobs come due that a worker was told of, by `performance.now()`. A notification comes
 * once; a look for one job must not make it forget the others.
 */
export class DueTimes {
  /** The earliest first. */
  readonly #told: number[] = [];
  /** What the database last said is due next; a later answer replaces it. */
  #next = Number.POSITIVE_INFINITY;

  add(at: number): void {
    const told = this.#told;
    let i = told.length;
    while (i > 0 && (told[i - 1] as number) > at) i -= 1;
    if (told[i - 1] === at) return;
    told.splice(i, 0, at);
    if (told.length > atMost) told.pop();
  }

  set next(at: number) {
    this.#next = at;
  }

  /** The first one later than `now`; what has passed is forgotten. */
  after(now: number): number {
    const passed = this.#told.findIndex((at) => at > now);
    this.#told.splice(0, passed === -1 ? this.#told.length : passed);
    if (this.#next <= now) this.#next = Number.POSITIVE_INFINITY;
    return Math.min(this.#next, this.#told[0] ?? Number.POSITIVE_INFINITY);
  }
}
