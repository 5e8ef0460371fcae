import type { Leasehold } from "../client.ts";

interface ProcessWide {
  readonly clients: Map<string, Leasehold>;
}

const processWideName = Symbol.for("leasehold.next.1");

/**
 * What there is once in a process, however many copies of this module are evaluated: a development
 * server evaluates them at each change, and Next bundles instrumentation and routes apart. The name
 * carries the version of its shape.
 */
export function processWide(): ProcessWide {
  const holder = globalThis as { [processWideName]?: ProcessWide };
  holder[processWideName] ??= { clients: new Map() };
  return holder[processWideName];
}
