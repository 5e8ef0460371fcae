import { describe, expect, test } from "vitest";
import { InvalidArgumentError, show } from "../../src/errors.ts";
import { integer, knownOptions, pathText, text, utf8Bytes } from "../../src/options.ts";

const code = (expected: string) => expect.objectContaining({ code: expected });

describe("integer", () => {
  test("accepts whole numbers within its bounds, both ends included", () => {
    expect(integer("limit", 1, { min: 1, max: 10 })).toBe(1);
    expect(integer("limit", 10, { min: 1, max: 10 })).toBe(10);
    expect(Object.is(integer("priority", -0, { min: -5, max: 5 }), 0)).toBe(true);
  });

  const others = [0, 11, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", 5n, null, undefined, {}];
  test.each(others.map((value) => [show(value), value]))("S21: refuses %s", (_, value) => {
    expect(() => integer("limit", value, { min: 1, max: 10 })).toThrow(InvalidArgumentError);
  });

  test("S21: names the option, the value and what is accepted", () => {
    expect(() => integer("maxAttempts", Number.NaN, { min: 1, max: 100 })).toThrow(
      "maxAttempts is NaN. Give a whole number from 1 to 100.",
    );
  });
});

describe("text", () => {
  const bounds = { maxBytes: 10 };

  test.each(["k", "null", "0", " a ", "größe", "😀😀"])("accepts %j as it is", (value) => {
    expect(text("key", value, bounds)).toBe(value);
  });

  const noKeys = ["", " ", "   ", "\u00a0", null, undefined, 0, 1n, {}, Symbol("k")];
  test.each(noKeys.map((value) => [show(value), value]))(
    "S16: %s is refused, never read as no key",
    (_, value) => {
      expect(() => text("key", value, bounds)).toThrow(code("LH002"));
    },
  );

  test.each(["a\0", "a\n", "a\tb", "\u001b[31m", "a\u007f", "a\u0085", "a\ud83d", "\ude00a"])(
    "refuses %j, which a terminal or PostgreSQL would stumble over",
    (value) => {
      expect(() => text("key", value, bounds)).toThrow(code("LH002"));
    },
  );

  test("counts bytes of UTF-8, not characters", () => {
    expect(utf8Bytes("a ü 😀")).toBe(9);
    expect(text("key", "a".repeat(10), bounds)).toHaveLength(10);
    expect(() => text("key", "ü".repeat(6), bounds)).toThrow(code("LH004"));
    expect(() => text("key", "ü".repeat(6), bounds)).toThrow("key takes 12 bytes of UTF-8, and 10");
  });
});

describe("knownOptions", () => {
  const known = ["key", "maxAttempts", "lease", "backoff"];

  test("lets known options pass, in any number", () => {
    expect(() => knownOptions("enqueue", {}, known)).not.toThrow();
    expect(() => knownOptions("enqueue", { key: "a", lease: undefined }, known)).not.toThrow();
  });

  test.each([
    ["maxAttempt", "maxAttempts"],
    ["max_attempts", "maxAttempts"],
    ["leese", "lease"],
    ["leaseMs", "lease"],
    ["Backoff", "backoff"],
    ["keys", "key"],
  ])("%s: did you mean %s?", (given, meant) => {
    expect(() => knownOptions("enqueue", { [given]: 1 }, known)).toThrow(
      `enqueue has no option "${given}". Did you mean ${meant}? Accepted: key, maxAttempts, lease, backoff.`,
    );
  });

  test("suggests nothing where nothing is near", () => {
    const attempt = () => knownOptions("enqueue", { concurrency: 1 }, known);
    expect(attempt).toThrow('enqueue has no option "concurrency". Accepted: key,');
    expect(attempt).toThrow(code("LH003"));
    expect(() => knownOptions("enqueue", { ["x".repeat(1e5)]: 1 }, known)).toThrow(code("LH003"));
  });

  test("an unknown option is refused even when it is undefined, and so is a name of Object's", () => {
    expect(() => knownOptions("enqueue", { leese: undefined }, known)).toThrow(code("LH003"));
    expect(() => knownOptions("enqueue", { constructor: 1 }, known)).toThrow(code("LH003"));
  });

  test.each([[null], [["key"]], ["key"], [5]])("options that are no object: %j", (options) => {
    expect(() => knownOptions("enqueue", options as object, known)).toThrow(code("LH002"));
  });
});

test("a path reads as code would write it", () => {
  expect(pathText("payload", [])).toBe("payload");
  expect(pathText("payload", ["items", 2, "price"])).toBe("payload.items[2].price");
  expect(pathText("payload", ["größe", "odd key", "a\ud83d", Symbol("s")])).toBe(
    'payload.größe["odd key"]["a\\ud83d"][Symbol(s)]',
  );
});

test("a deep path is cut in the middle, a long key at its end", () => {
  const path = pathText("payload", [...Array(490).fill("a"), "x".repeat(1_000)]);
  expect(path).toMatch(/^payload(\.a){10}…(\.a){4}\["x{77}\.\.\."\]$/);
});
