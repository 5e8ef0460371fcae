/**
 * Runs `ask` with a signal that aborts when `signal` does, or when `ms` have gone by without an answer:
 * then it rejects with an error of code ETIMEDOUT, which is worth another attempt.
 */
export async function answerWithin<T>(
  ms: number,
  signal: AbortSignal,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const impatience = new AbortController();
  const timer = setTimeout(() => impatience.abort(tooLate(ms)), ms);
  try {
    return await ask(AbortSignal.any([signal, impatience.signal]));
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(ms: number): Error {
  return Object.assign(new Error(`no answer within ${ms / 1_000} s`), { code: "ETIMEDOUT" });
}
