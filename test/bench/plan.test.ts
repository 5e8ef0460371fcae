import { expect, test } from "vitest";
import { callsOf, jobOf } from "../../bench/child/plan.ts";

test("the calls of a plan hold each number once, in order, the rest in the last call", () => {
  const plan = { from: 10, count: 7, kinds: ["a"] };
  const calls = [...callsOf(plan, 3)].map((jobs) => jobs.map(({ n }) => n));
  expect(calls).toEqual([[10, 11, 12], [13, 14, 15], [16]]);
});

test("kinds and priorities come in turn, a delay is each one's", () => {
  const plan = { from: 0, count: 4, kinds: ["a", "b"], priorities: 3, delayMs: 5 };
  expect([0, 1, 4].map((n) => jobOf(plan, n))).toEqual([
    { kind: "a", n: 0, delayMs: 5, priority: 0 },
    { kind: "b", n: 1, delayMs: 5, priority: 1 },
    { kind: "a", n: 4, delayMs: 5, priority: 1 },
  ]);
});

test("what a plan does not say, its jobs do not have", () => {
  expect(jobOf({ from: 0, count: 1, kinds: ["a"] }, 0)).toEqual({ kind: "a", n: 0 });
});
