/** Asks every few milliseconds until the answer is truthy, and answers it. */
export async function until<T>(
  ask: () => T | Promise<T>,
  what: string,
  withinMs = 30_000,
): Promise<NonNullable<T>> {
  const end = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > end) throw new Error(`Not within ${withinMs / 1_000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
