/** Maps values from 0 to `end` to a length. */
export interface Scale {
  /** The first tick at or above the highest value. */
  readonly end: number;
  readonly ticks: readonly number[];
  at(value: number): number;
}

/** A linear scale from 0, with about so many ticks at round numbers. `most` is the highest value. */
export function scaleTo(most: number, length: number, about = 5): Scale {
  const highest = most > 0 && Number.isFinite(most) ? most : 1;
  const step = roundStep(highest / about);
  const count = Math.ceil(highest / step - 1e-9);
  const end = step * count;
  const ticks = Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)));
  return { end, ticks, at: (value) => (value / end) * length };
}

/** The next 1, 2, 2.5 or 5 with a power of ten, from below. */
function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 2.5, 5, 10].find((each) => each * power >= rough * (1 - 1e-9)) ?? 10;
  return factor * power;
}
