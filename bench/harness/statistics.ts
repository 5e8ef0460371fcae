/** Of the numbers in any order; NaN of none. */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/**
 * The value below which so many percent lie, interpolated between its neighbours; NaN of none.
 * `percent` is 0 to 100.
 */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((one, other) => one - other);
  const place = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(place)] as number;
  const above = sorted[Math.ceil(place)] as number;
  return below + (above - below) * (place - Math.floor(place));
}

/** How many a second over each stretch of `every`, from counts that grow over time. */
export function ratesPer(
  every: number,
  steps: readonly { readonly ran: number; readonly atMs: number }[],
  from: { readonly ran: number; readonly atMs: number },
): (readonly [ran: number, perSecond: number])[] {
  const rates: (readonly [number, number])[] = [];
  let last = from;
  for (const step of steps) {
    if (step.ran - last.ran < every) continue;
    rates.push([step.ran, (step.ran - last.ran) / ((step.atMs - last.atMs) / 1_000)]);
    last = step;
  }
  return rates;
}

/** Numbers from 0 to below 1 that are the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
