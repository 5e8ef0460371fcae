import { expect, test } from "vitest";
import { durationMs, maxTimerMs } from "../../src/duration.ts";
import { InvalidArgumentError, show } from "../../src/errors.ts";

test.each([
  [0, 0],
  [250, 250],
  ["250ms", 250],
  ["5s", 5_000],
  ["1.5m", 90_000],
  ["2h", 7_200_000],
  ["0s", 0],
  ["007s", 7_000],
])("%j is %i ms", (value, ms) => {
  expect(durationMs("lease", value)).toBe(ms);
});

test("days are 24 hours, where the bounds allow more than a timer can wait", () => {
  expect(durationMs("retain", "30d", { max: 365 * 86_400_000 })).toBe(30 * 86_400_000);
});

test("fractions are exact where floating point is not", () => {
  expect(1.005 * 1_000).not.toBe(1_005);
  expect(durationMs("lease", "1.005s")).toBe(1_005);
  expect(durationMs("lease", "0.001s")).toBe(1);
});

test("minus zero is zero", () => {
  expect(Object.is(durationMs("delay", -0), 0)).toBe(true);
});

const noDurations = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -1,
  0.4,
  1e20,
  "500",
  "",
  " 5s",
  "5 s",
  "5S",
  "-5s",
  "5w",
  "0.5ms",
  "1.0005s",
  "1e3s",
  "1.s",
  "9999999999999999d",
  "NaN",
  null,
  undefined,
  5n,
  true,
  {},
  [5],
];

test.each(noDurations.map((value) => [show(value), value]))(
  "S21: %s is no duration",
  (_, value) => {
    expect(() => durationMs("poll", value)).toThrow(InvalidArgumentError);
    expect(() => durationMs("poll", value)).toThrow(/^poll is /);
  },
);

test("S21: the bounds are inclusive, and the refusal names the option, the value and the bounds", () => {
  const bounds = { min: 1_000, max: 86_400_000 };
  expect(durationMs("lease", "1s", bounds)).toBe(1_000);
  expect(durationMs("lease", "24h", bounds)).toBe(86_400_000);
  expect(() => durationMs("lease", "999ms", bounds)).toThrow(
    'lease is "999ms". Give a duration such as "5s", "1.5m" or 250 (milliseconds), 1s to 1d.',
  );
  expect(() => durationMs("lease", "25h", bounds)).toThrow(InvalidArgumentError);
});

test("by default nothing is accepted that setTimeout would wrap around to fire at once", () => {
  expect(durationMs("poll", maxTimerMs)).toBe(2_147_483_647);
  expect(() => durationMs("poll", maxTimerMs + 1)).toThrow(InvalidArgumentError);
  expect(() => durationMs("poll", "25d")).toThrow("0ms to 2147483647ms");
});
