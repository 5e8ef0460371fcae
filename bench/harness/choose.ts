import type { Benchmark } from "./benchmark.ts";

/** A contender's name as the command line writes it: "graphile-worker-batched". */
export function slug(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/**
 * Those that a list of names asks for, in their own order; all where it is undefined. Throws for a name
 * that none of them has.
 */
export function chosen<T extends { readonly name: string }>(
  option: string,
  all: readonly T[],
  asked: string | undefined,
): T[] {
  if (asked === undefined) return [...all];
  const names = asked.split(",").map((each) => each.trim());
  const known = all.map(({ name }) => slug(name));
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new Error(`--${option} asks for ${unknown.join(", ")}: there are ${known.join(", ")}.`);
  }
  return all.filter(({ name }) => names.includes(slug(name)));
}

/**
 * Whom a benchmark measures, of those that were chosen. `fastest` are the rivals that a long one
 * measures; undefined where they are not known, and then it measures all.
 */
export function contendersOf(
  { contenders, long }: Benchmark,
  among: readonly string[],
  fastest: readonly string[] | undefined,
): readonly string[] {
  if (contenders !== undefined) return among.includes("leasehold") ? contenders : [];
  if (!long || fastest === undefined) return among;
  return among.filter((name) => name === "leasehold" || fastest.includes(name));
}
