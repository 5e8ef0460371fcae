import { attempt } from "./describe-error.ts";

/** What a value that is neither text nor binary data is counted as, in bytes. */
const smallBytes = 16;

/** Parts looked at, at the most: a value of a million parts must not cost more than it saves. */
const maxParts = 100_000;

/**
 * About how many bytes of memory `value` takes: text by two bytes a character, binary data by its
 * length, everything else by 16 a part, through plain objects, arrays, Maps and Sets. An estimate:
 * what instances of classes hold is not looked into, and beyond 100,000 parts the rest goes by the
 * average of those. Never throws, and runs no getter.
 */
export function valueSize(value: unknown): number {
  const seen = new Set<object>();
  const waiting: unknown[] = [value];
  let bytes = 0;
  let parts = 0;
  for (; waiting.length > 0 && parts < maxParts; parts += 1) {
    const part = waiting.pop();
    if (typeof part === "object" && part !== null) {
      if (seen.has(part)) continue;
      seen.add(part);
      for (const inner of attempt(() => partsOf(part)) ?? []) waiting.push(inner);
    }
    bytes += attempt(() => ownBytes(part)) ?? smallBytes;
  }
  return bytes + waiting.length * Math.ceil(bytes / parts);
}

function ownBytes(value: unknown): number {
  if (typeof value === "string") return smallBytes + 2 * value.length;
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return value.byteLength;
  if (value instanceof Blob) return value.size;
  return smallBytes;
}

function partsOf(value: object): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Set) return [...value];
  if (value instanceof Map) return [...value.keys(), ...value.values()];
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return [];
  const properties = Object.entries(Object.getOwnPropertyDescriptors(value));
  return properties.flatMap(([name, property]) => [name, property.value]);
}
