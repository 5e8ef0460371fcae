import { maxTimerMs } from "./duration.ts";
import { unreferenced } from "./unreferenced.ts";
import { valueSize } from "./value-size.ts";

/** How much is kept in memory, at the most. */
export interface KeepBounds {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

interface Kept {
  readonly value: unknown;
  /** By `performance.now()`. */
  readonly expiresAt: number;
  readonly bytes: number;
}

/** What is over is looked for no more often than this. */
const leastPauseMs = 1_000;

/**
 * Values under keys, each until its time is over; the one that was not asked for the longest makes
 * room. What is over goes by itself, by a timer that does not keep the process alive.
 */
export class KeptValues {
  readonly #bounds: KeepBounds;
  /** The one that was asked for last is the last. */
  readonly #entries = new Map<string, Kept>();
  #bytes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lookAt = 0;

  constructor(bounds: KeepBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value in an object of its own, since undefined may be one. */
  get(key: string): { readonly value: unknown } | undefined {
    const kept = this.#entries.get(key);
    if (kept === undefined) return undefined;
    if (kept.expiresAt <= performance.now()) {
      this.delete(key);
      return undefined;
    }
    this.#entries.delete(key);
    this.#entries.set(key, kept);
    return kept;
  }

  /** What is larger than all the room is not kept. */
  set(key: string, value: unknown, ttlMs: number): void {
    this.delete(key);
    const bytes = valueSize(value) + valueSize(key);
    const { maxEntries, maxBytes } = this.#bounds;
    if (bytes > maxBytes || maxEntries === 0) return;
    this.#entries.set(key, { value, expiresAt: performance.now() + ttlMs, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries && this.#bytes <= maxBytes) break;
      this.delete(oldest);
    }
    this.#lookIn(ttlMs);
  }

  delete(key: string): void {
    const kept = this.#entries.get(key);
    if (kept === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= kept.bytes;
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Unless it is looked for sooner. */
  #lookIn(ms: number): void {
    const pauseMs = Math.max(ms, leastPauseMs);
    const at = performance.now() + pauseMs;
    if (this.#timer !== undefined && this.#lookAt <= at) return;
    clearTimeout(this.#timer);
    this.#lookAt = at;
    this.#timer = unreferenced(
      setTimeout(() => this.#dropExpired(), Math.min(pauseMs, maxTimerMs)),
    );
  }

  #dropExpired(): void {
    this.#timer = undefined;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const [key, { expiresAt }] of this.#entries) {
      if (expiresAt <= now) this.delete(key);
      else next = Math.min(next, expiresAt);
    }
    if (this.#entries.size > 0) this.#lookIn(next - now);
  }
}
