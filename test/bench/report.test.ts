import { expect, test } from "vitest";
import { charts } from "../../bench/report/charts.ts";
import { markdown } from "../../bench/report/markdown.ts";
import { short, shown } from "../../bench/report/numbers.ts";
import { readmePart, withResults } from "../../bench/report/readme.ts";
import { figuresOf, summaries } from "../../bench/report/summary.ts";
import { benchmarkTable, markdownTable } from "../../bench/report/table.ts";
import { drained, rates, resultsOf } from "./results.ts";

test.each([
  [41_278.4, "41,300"],
  [1_000_000, "1,000,000"],
  [999.6, "1,000"],
  [123, "123"],
  [12.34, "12.3"],
  [1.239, "1.24"],
  [0.0626, "0.063"],
  [0, "0"],
  [-41_278, "-41,300"],
  [Number.NaN, "–"],
  [Number.POSITIVE_INFINITY, "–"],
])("%d is shown as %s", (value, text) => {
  expect(shown(value)).toBe(text);
});

test.each([
  [0, "0"],
  [250, "250"],
  [2_500, "2.5k"],
  [40_000, "40k"],
  [1_500_000, "1.5M"],
])("%d is %s at an axis", (value, text) => {
  expect(short(value)).toBe(text);
});

test("a cell can't end its cell or its row", () => {
  expect(markdownTable(["", "a|b"], [["x\ny", "1"]])).toBe("|  | a\\|b |\n|---|---|\n| x y | 1 |");
});

test("a summary is the median of one figure's rounds, with its notes once", () => {
  const [each] = drained.cases;
  if (each === undefined) throw new Error("There is no case.");
  expect(figuresOf(each)).toEqual([{ name: "rate", unit: "jobs/s", better: "more" }]);
  expect(summaries(each, "rate")).toEqual([
    { contender: "leasehold", median: 46_000, rounds: [50_000, 41_000, 46_000], notes: [] },
    { contender: "a | b", median: 1_234, rounds: [1_234], notes: ["ended after 90 s"] },
  ]);
  expect(summaries(each, "memory")).toEqual([]);
});

test("a table has medians, what the rounds went from and to, and what is missing", () => {
  const { omitted } = resultsOf(drained);
  const table = benchmarkTable(drained, ["leasehold", "a | b", "nobody"], omitted);
  expect(table).toBe(
    [
      "|  | unit | leasehold | a \\| b |",
      "|---|---|---|---|",
      "| one process: rate | jobs/s | **46,000** (41,000 – 50,000) | **1,230*** |",
      "",
      "- \\* a | b, one process: ended after 90 s.",
      "- a | b, two processes: not measured, it knows one.",
    ].join("\n"),
  );
});

test("a contender without a figure in one case has a dash there", () => {
  const two = {
    ...drained,
    cases: [
      ...drained.cases,
      {
        name: "two processes",
        measured: [{ contender: "leasehold", rounds: rates(7), series: [] }],
      },
    ],
  };
  expect(benchmarkTable(two, ["leasehold", "a | b"], [])).toContain(
    "| two processes: rate | jobs/s | **7** | – |",
  );
});

test("the report says what it was measured on, what was absent and what failed", () => {
  const failed = { benchmark: "drain", case: "x", contender: "y", reason: "3 jobs never ran" };
  const text = markdown({ ...resultsOf(drained), failed: [failed] });
  for (const part of [
    "# Side by side, 2026-11-30",
    "Some CPU, 2 cores, 8 GB",
    "an fdatasync takes 0.13 ms",
    "0.1 / 0.2 / 0.3 before, 2 / 1.5 / 1 after",
    "PostgreSQL 18.4: fsync on; Node v24.0.0; no Redis",
    "leasehold 0.1.0",
    "absent: it is not installed.",
    "drain, x, y: 3 jobs never ran",
  ]) {
    expect(text).toContain(part);
  }
});

test("a benchmark that nobody could run has no part of the report", () => {
  const empty = { ...drained, cases: [{ name: "one process", measured: [] }] };
  expect(markdown(resultsOf(empty))).not.toContain(empty.title);
  expect(charts(resultsOf(empty))).toEqual([]);
});

test("the part of the README between its marks is written anew, the rest stays", () => {
  const marks = ["<!-- results: written by bench/report.ts -->", "<!-- end of results -->"];
  const readme = `before\n${marks[0]}\nold\n${marks[1]}\nafter\n`;
  const once = withResults(readme, "new");
  expect(once).toBe(`before\n${marks[0]}\n\nnew\n\n${marks[1]}\nafter\n`);
  expect(withResults(once, "new")).toBe(once);
  expect(() => withResults("no marks", "new")).toThrow("put <!-- results");
  expect(() => withResults(`${marks[1]}${marks[0]}`, "new")).toThrow("lacks its marks");
});

test("the README shows one line a case and each chart", () => {
  const part = readmePart(resultsOf(drained), "2026-11-30-rivals");
  expect(part).toContain('| Drain <fast> & "safe", one process: rate, jobs/s | 46,000 | 1,230* |');
  expect(part).toContain("(results/2026-11-30-rivals.md)");
  expect(part).toContain("(results/2026-11-30-rivals-drain.svg)");
  expect(part).toContain("(results/2026-11-30-rivals-drain-rate.svg)");
});
