/** Numbers from 0 up to 1 that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export const pick = <T>(random: () => number, from: readonly T[]): T =>
  from[Math.floor(random() * from.length)] as T;

export function shuffled<T>(random: () => number, from: readonly T[]): T[] {
  const rest = [...from];
  const taken: T[] = [];
  while (rest.length > 0) taken.push(...rest.splice(Math.floor(random() * rest.length), 1));
  return taken;
}
