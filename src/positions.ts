import type { PlacedJob, Positions } from "./claim.ts";

/** How often claims look from the start, at least, and how much of their time that may take. */
const fromStartMs = { least: 1_000, most: 5_000, share: 20 };

/**
 * Where a worker's last claims ended, for the next one to go on from there: what was claimed leaves dead
 * index entries behind it, which stay as long as anybody's old transaction may see them.
 *
 * A job that comes before the last position (a transaction that committed late, a reaped or resumed one)
 * is found by the next look from the start: once a second, or more seldom where such a look takes long,
 * but at least every five seconds; and at once where a claim found less than it had slots for.
 */
export class LastPositions {
  #positions: Record<string, Positions[string]> = {};
  #fromStartAt = Number.NEGATIVE_INFINITY;

  /** What to give the next claim; null: it is to look from the start. */
  next(now: number): Positions | null {
    return now >= this.#fromStartAt ? null : this.#positions;
  }

  /** A claim for so many slots took `claimed`, from the start or not, within `ms`. */
  took(
    claimed: readonly PlacedJob[],
    options: { slots: number; fromStart: boolean; ms: number; now: number },
  ): void {
    const { slots, fromStart, ms, now } = options;
    if (claimed.length < slots) {
      this.#fromStartAt = Number.NEGATIVE_INFINITY;
      this.#positions = {};
      return;
    }
    if (fromStart) {
      const { least, most, share } = fromStartMs;
      this.#fromStartAt = now + Math.min(Math.max(ms * share, least), most);
    }
    const last = new Map(claimed.map((job) => [job.priority, job]));
    const positions = { ...this.#positions };
    for (const [priority, { run_after, id }] of last) positions[priority] = { run_after, id };
    this.#positions = positions;
  }
}
