/** What one round came to, in milliseconds, and what it consisted of. */
export interface Figure {
  readonly what: string;
  /** The settings that matter for it. */
  readonly with: string;
  readonly roundsMs: readonly number[];
}

/** A markdown table of medians and worst. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ what, with: settings, roundsMs }) => {
    const sorted = [...roundsMs].sort((one, other) => one - other);
    const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
    const worst = sorted.at(-1) ?? Number.NaN;
    return `| ${what} | ${settings} | ${shown(median)} | ${shown(worst)} | ${sorted.length} |`;
  });
  return ["| | settings | median | worst | rounds |", "|---|---|---|---|---|", ...rows].join("\n");
}

function shown(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(ms < 100_000 ? 2 : 1)} s`;
}
