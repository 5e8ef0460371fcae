import { expect, test } from "vitest";
import { valueSize } from "../../src/value-size.ts";

test.each<[string, unknown, number]>([
  ["text by two bytes a character", "x".repeat(1_000), 2_016],
  ["binary data by its length", new Uint8Array(5_000), 5_000],
  ["a buffer's own bytes", new ArrayBuffer(5_000), 5_000],
  ["a blob by its size", new Blob(["x".repeat(300)]), 300],
  ["a number as a part", 7, 16],
  ["nothing as a part", undefined, 16],
  ["an array with its items", [1, 2, 3], 64],
  ["an object with its names", { ab: "cd" }, 16 + 20 + 20],
  ["a Map with its keys and values", new Map([["ab", 1]]), 16 + 20 + 16],
  ["a Set with its items", new Set([1, 2]), 48],
  [
    "an instance of a class without what it holds",
    new (class {
      text = "x".repeat(99);
    })(),
    16,
  ],
])("counts %s", (_, value, bytes) => {
  expect(valueSize(value)).toBe(bytes);
});

test("counts what stands in a value twice once, and ends with a cycle", () => {
  const data = new Uint8Array(1_000);
  const cycle: unknown[] = [data, data];
  cycle.push(cycle);
  expect(valueSize(cycle)).toBe(1_016);
});

test("goes by the average beyond a hundred thousand parts", () => {
  const bytes = valueSize(Array(1_000_000).fill(1));
  expect(bytes).toBeGreaterThan(15_900_000);
  expect(bytes).toBeLessThan(18_000_000);
});

test("runs no getter, and throws nothing", () => {
  const trap = {
    get text(): string {
      throw new Error("read");
    },
  };
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  expect(valueSize([trap, proxy])).toBeGreaterThan(48);
});
