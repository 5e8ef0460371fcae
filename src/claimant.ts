import { invalidArgument } from "./errors.ts";
import { text } from "./options.ts";

/** Kinds that have a handler, of those that are registered. Throws LH002. */
export function handledKinds(
  kinds: readonly string[],
  registered: readonly string[],
): readonly string[] {
  const accepted = `a list of kinds that have a handler: ${registered.join(", ")}`;
  if (!Array.isArray(kinds) || kinds.length === 0) throw invalidArgument("kinds", kinds, accepted);
  for (const kind of kinds) {
    if (!registered.includes(kind)) throw invalidArgument("kinds", kind, accepted);
  }
  return kinds;
}

/**
 * A name that tells which process claimed a job, such as "worker-1234-0f8fad5b"; `given` replaces
 * what stands before its random part. No two are alike. Throws LH002, LH004.
 */
export function processName(role: "drain" | "start" | "worker", given?: string): string {
  const process = `${role}-${globalThis.process?.pid ?? 0}`;
  const first = given === undefined ? process : text("worker", given, { maxBytes: 400 });
  return `${first}-${crypto.randomUUID().slice(0, 8)}`;
}
