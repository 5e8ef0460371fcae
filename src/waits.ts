/** The wait before try `n` (from 0) is repeated, in milliseconds; beyond the list the last one. */
export function nthWait(waitsMs: readonly number[], n: number): number {
  return waitsMs[Math.min(n, waitsMs.length - 1)] ?? 0;
}
