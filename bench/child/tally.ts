import { nowMs } from "./clock.ts";

/** What a consumer ran, as it crosses to the parent. */
export interface Runs {
  /** How often each job ran, one byte for each from number 0 up, in base64. */
  readonly counts: string;
  /** What was no number from 0 up, the first ten of them. */
  readonly strange: readonly string[];
  /** When each job began, by its number; empty where nobody asked. */
  readonly startedMs: readonly (number | null)[];
}

/** Counts what one consumer runs. */
export class Tally {
  ran = 0;
  #counts = new Uint8Array(1 << 16);
  #highest = -1;
  readonly #startedMs: (number | null)[] | undefined;
  readonly #strange: string[] = [];

  constructor({ times }: { times: boolean }) {
    this.#startedMs = times ? [] : undefined;
  }

  add(n: number): void {
    this.ran += 1;
    if (!Number.isSafeInteger(n) || n < 0) {
      if (this.#strange.length < 10) this.#strange.push(String(n));
      return;
    }
    if (n >= this.#counts.length) this.#grow(n);
    if (n > this.#highest) this.#highest = n;
    const count = this.#counts[n] as number;
    if (count < 255) this.#counts[n] = count + 1;
    if (this.#startedMs !== undefined) this.#start(n);
  }

  runs(): Runs {
    const counts = Buffer.from(this.#counts.subarray(0, this.#highest + 1)).toString("base64");
    const startedMs = this.#startedMs ?? [];
    return { counts, strange: this.#strange, startedMs };
  }

  #start(n: number): void {
    const started = this.#startedMs as (number | null)[];
    while (started.length <= n) started.push(null);
    started[n] ??= nowMs();
  }

  #grow(n: number): void {
    const grown = new Uint8Array(Math.max(this.#counts.length * 2, n + 1));
    grown.set(this.#counts);
    this.#counts = grown;
  }
}

/** How often each job ran in all of these together. */
export function mergedCounts(all: readonly Runs[]): Uint32Array {
  const each = all.map(({ counts }) => Buffer.from(counts, "base64"));
  const merged = new Uint32Array(Math.max(0, ...each.map(({ length }) => length)));
  for (const counts of each) {
    for (let n = 0; n < counts.length; n += 1) {
      merged[n] = (merged[n] as number) + (counts[n] as number);
    }
  }
  return merged;
}
