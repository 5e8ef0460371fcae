import { expect, test } from "vitest";
import { mergedCounts, type Runs, Tally } from "../../bench/child/tally.ts";
import { checkRuns } from "../../bench/harness/check.ts";

function runsOf(...numbers: number[]): Runs {
  const tally = new Tally({ times: false });
  for (const n of numbers) tally.add(n);
  return tally.runs();
}

const three = { due: 3, all: true, waiting: 0, unfinished: 0 };

test("each once, by one consumer or several, is a figure", () => {
  checkRuns([runsOf(2, 0, 1)], three);
  checkRuns([runsOf(1), runsOf(0, 2)], three);
  checkRuns([runsOf(), runsOf(0, 1, 2)], three);
});

test("a job that never ran is named", () => {
  expect(() => checkRuns([runsOf(0, 2)], { ...three, unfinished: 1 })).toThrow(
    "No figure, since 1 jobs never ran: 1",
  );
});

test("the last job is missed as well as any other", () => {
  expect(() => checkRuns([runsOf(0, 1)], { ...three, unfinished: 1 })).toThrow("never ran: 2");
});

test("a job that ran twice in one consumer, or once in each of two, is named", () => {
  expect(() => checkRuns([runsOf(0, 1, 1, 2)], three)).toThrow("1 jobs ran twice: 1");
  expect(() => checkRuns([runsOf(0, 1), runsOf(1, 2)], three)).toThrow("1 jobs ran twice: 1");
});

test("a job that ran 256 times is no job that never ran", () => {
  const often = runsOf(...Array.from({ length: 256 }, () => 0), 1, 2);
  expect(() => checkRuns([often], three)).toThrow("1 jobs ran twice: 0");
});

test("what the queue says of itself must agree", () => {
  expect(() => checkRuns([runsOf(0, 1, 2)], { ...three, unfinished: 1 })).toThrow(
    "the queue says that 1 jobs are unfinished, and not 0",
  );
});

test("a run that was ended leaves the rest in the queue, and no more", () => {
  const ended = { due: 5, all: false, waiting: 0, unfinished: 3 };
  checkRuns([runsOf(0, 3)], ended);
  expect(() => checkRuns([runsOf(0, 3)], { ...ended, unfinished: 2 })).toThrow("and not 3");
  expect(() => checkRuns([runsOf(0, 0)], ended)).toThrow("ran twice");
});

test("jobs that wait may not run, and must still be there", () => {
  const delayed = { due: 2, all: true, waiting: 3, unfinished: 3 };
  checkRuns([runsOf(0, 1)], delayed);
  expect(() => checkRuns([runsOf(0, 1, 4)], { ...delayed, unfinished: 2 })).toThrow(
    "1 jobs ran that were not due: 4",
  );
  expect(() => checkRuns([runsOf(0, 1)], { ...delayed, unfinished: 0 })).toThrow("and not 3");
});

test("what is no number of a job is named, however it came", () => {
  for (const strange of [-1, 1.5, Number.NaN, undefined as unknown as number]) {
    expect(() => checkRuns([runsOf(0, 1, 2, strange)], three)).toThrow(
      `1 jobs ran that are no number: ${strange}`,
    );
  }
});

test("of many faults five are named and all are counted", () => {
  expect(() => checkRuns([runsOf()], { due: 9, all: true, waiting: 0, unfinished: 9 })).toThrow(
    "9 jobs never ran: 0, 1, 2, 3, 4, …",
  );
});

test("a tally grows with the numbers, and counts of two are added", () => {
  const high = 200_000;
  const merged = mergedCounts([runsOf(0, high), runsOf(high, 7)]);
  expect(merged.length).toBe(high + 1);
  expect([merged[0], merged[7], merged[high], merged[high - 1]]).toEqual([1, 1, 2, 0]);
});

test("the first start of each job is kept where that is asked for", () => {
  const tally = new Tally({ times: true });
  tally.add(2);
  const first = tally.runs().startedMs[2];
  tally.add(2);
  expect(tally.runs().startedMs).toEqual([null, null, first]);
  expect(first).toBeGreaterThan(0);
  expect(runsOf(1).startedMs).toEqual([]);
});
