/** One number that a round came to. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly better: "more" | "less";
  readonly value: number;
  /** What must be known to read it, such as that a time limit ended the run. */
  readonly note?: string;
}

/** How something went over the time or the jobs of one run. */
export interface Series {
  readonly name: string;
  readonly x: string;
  readonly y: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** What one round brings. The first figure is the one that is charted. */
export interface Measured {
  readonly figures: readonly Figure[];
  readonly series?: readonly Series[];
}

export function figure(
  name: string,
  unit: string,
  better: Figure["better"],
  value: number,
  note?: string,
): Figure {
  return { name, unit, better, value, ...(note !== undefined && { note }) };
}
