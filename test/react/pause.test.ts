import { expect, test, vi } from "vitest";
import { createConnection } from "../../src/react/connection.ts";
import { pauseMs, retryAfterMs } from "../../src/react/pause.ts";

const pauses = { firstPauseMs: 500, maxPauseMs: 10_000 };
const steps = (random: number, retryAfter = 0) =>
  [0, 1, 2, 3, 7, 8, 5000].map((asked) => pauseMs(pauses, asked, retryAfter, random));

test("a pause grows by half each time, up to the most", () => {
  expect(steps(0)).toEqual([500, 750, 1125, 1688, 8543, 10_000, 10_000]);
});

test("up to a fifth is added, and nothing is taken off", () => {
  expect(steps(1)).toEqual([600, 900, 1350, 2025, 10_252, 12_000, 12_000]);
  const drawn = Array.from({ length: 200 }, () => pauseMs(pauses, 0));
  expect(Math.min(...drawn)).toBeGreaterThanOrEqual(500);
  expect(Math.max(...drawn)).toBeLessThanOrEqual(600);
  expect(new Set(drawn).size).toBeGreaterThan(5);
});

test("a pause is never shorter than what the server asked for", () => {
  expect(steps(0, 3000)).toEqual([3000, 3000, 3000, 3000, 8543, 10_000, 10_000]);
  expect(pauseMs(pauses, 0, 60_000, 0)).toBe(60_000);
  expect(pauseMs(pauses, 0, 60_000, 1)).toBe(72_000);
});

test("a pause stays within what a timer can wait", () => {
  expect(pauseMs(pauses, 0, 1e15, 1)).toBe(2 ** 31 - 1);
});

test("Retry-After is whole seconds, or a date", () => {
  vi.useFakeTimers({ now: Date.parse("2026-11-02T10:00:00Z") });
  expect(retryAfterMs("7")).toBe(7000);
  expect(retryAfterMs("0")).toBe(0);
  expect(retryAfterMs(null)).toBe(0);
  expect(retryAfterMs("Mon, 02 Nov 2026 10:00:30 GMT")).toBe(30_000);
  expect(retryAfterMs("Mon, 02 Nov 2026 09:00:00 GMT")).toBe(0);
  expect(retryAfterMs("soon")).toBe(0);
  vi.useRealTimers();
});

test.each(["firstPauseMs", "maxPauseMs", "timeoutMs"])("%s has to be a time", (name) => {
  for (const value of [0, -1, Number.NaN, 2 ** 31]) {
    expect(() => createConnection({ [name]: value })).toThrow(`${name} is ${value}`);
  }
});
