/** A time of the SQL functions as people read it, still in UTC: "2030-01-31 12:00:00Z". */
export function readableTime(iso: string | null | undefined): string | undefined {
  return iso?.replace(/^([^T]+)T(\d\d:\d\d:\d\d).*$/, "$1 $2Z");
}

const unitsMs = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
] as const;

/** A length of time in its two largest units: "2d 3h", "4m 5s", "1.2s", "30ms". */
export function readableDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${Math.floor(ms / 100) / 10}s`;
  const [unit, sizeMs] = unitsMs.find(([, size]) => ms >= size) ?? unitsMs[2];
  const [smaller, smallerMs] = unitsMs[unitsMs.findIndex(([name]) => name === unit) + 1] ?? [
    "s",
    1_000,
  ];
  const rest = Math.floor((ms % sizeMs) / smallerMs);
  return `${Math.floor(ms / sizeMs)}${unit}${rest > 0 ? ` ${rest}${smaller}` : ""}`;
}

/** "1 job", "2 jobs". */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
