import { expect, test } from "vitest";
import { installed } from "../../src/optional-package.ts";

test("an empty module in the place of a package is a package that is not installed", () => {
  const empty: { Pool?: unknown } = {};
  expect(() => installed("pg", empty.Pool)).toThrow(
    expect.objectContaining({ code: "LH106", hint: "Run `npm install pg`." }),
  );
});

test("a class or a function is there", () => {
  class Pool {}
  expect(installed("pg", Pool)).toBe(Pool);
});
