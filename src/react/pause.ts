/** How long to wait between two requests for the same job; both in milliseconds. */
export interface Pauses {
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
}

const growth = 1.5;

/** Beyond 32 bits `setTimeout` fires at once, and a pause would become a hot loop. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * The pause after the request number `asked` (from 0): it grows by half each time, up to the most
 * that `pauses` allow, and is never shorter than what the server asked for. Up to a fifth is added
 * on top by `random` (0 to 1), so that pages that were opened together do not ask together.
 */
export function pauseMs(
  pauses: Pauses,
  asked: number,
  retryAfterMs = 0,
  random = Math.random(),
): number {
  const own = Math.min(pauses.firstPauseMs * growth ** asked, pauses.maxPauseMs);
  return Math.min(Math.ceil(Math.max(own, retryAfterMs) * (1 + random / 5)), maxTimerMs);
}

/** A Retry-After header in milliseconds: whole seconds, or a date, which proxies send; 0 for none. */
export function retryAfterMs(header: string | null): number {
  if (header === null) return 0;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  // What is no date either is NaN, and no reason to wait.
  return Math.max(Date.parse(header) - Date.now() || 0, 0);
}
