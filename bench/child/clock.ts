/**
 * Milliseconds by the machine's monotonic clock: the same in all of its processes, on Linux and macOS,
 * and finer than a microsecond.
 */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
