import { expect, test } from "vitest";
import { median, percentile, randomFrom, ratesPer } from "../../bench/harness/statistics.ts";

test("the median is the middle, or lies between the two in the middle, in any order", () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([10, 1, 2, 5])).toBe(3.5);
  expect(median([7])).toBe(7);
  expect(median([])).toBeNaN();
});

test("the numbers given are left in their order", () => {
  const values = [3, 1, 2];
  median(values);
  expect(values).toEqual([3, 1, 2]);
});

test("numbers are sorted as numbers, not as text", () => {
  expect(median([100, 20, 3])).toBe(20);
});

test("percentiles go from the least to the greatest, and between neighbours", () => {
  const values = [10, 20, 30, 40, 50];
  expect(percentile(values, 0)).toBe(10);
  expect(percentile(values, 100)).toBe(50);
  expect(percentile(values, 25)).toBe(20);
  expect(percentile(values, 95)).toBeCloseTo(48);
  expect(
    percentile(
      Array.from({ length: 101 }, (_, i) => i),
      99,
    ),
  ).toBe(99);
});

test("rates are taken over stretches, from where the last one ended", () => {
  const steps = [
    { ran: 60, atMs: 1_500 },
    { ran: 110, atMs: 2_000 },
    { ran: 150, atMs: 2_100 },
    { ran: 210, atMs: 4_000 },
  ];
  expect(ratesPer(100, steps, { ran: 10, atMs: 1_000 })).toEqual([
    [110, 100],
    [210, 50],
  ]);
});

test("random numbers are the same for the same seed, and lie from 0 to below 1", () => {
  const draw = (seed: number) => Array.from({ length: 1_000 }, randomFrom(seed));
  expect(draw(1)).toEqual(draw(1));
  expect(draw(1)).not.toEqual(draw(2));
  for (const each of draw(3)) expect(each >= 0 && each < 1).toBe(true);
  const mean = draw(4).reduce((sum, each) => sum + each, 0) / 1_000;
  expect(mean).toBeCloseTo(0.5, 1);
  expect(new Set(draw(5)).size).toBeGreaterThan(990);
});
