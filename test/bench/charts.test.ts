import { Window } from "happy-dom";
import { expect, test } from "vitest";
import { bars } from "../../bench/report/bars.ts";
import { lines } from "../../bench/report/lines.ts";
import { scaleTo } from "../../bench/report/scale.ts";
import { drained, rates, series } from "./results.ts";

/** The picture, as a strict reader of XML sees it. */
function read(svg: string) {
  const parser = new new Window().DOMParser();
  return parser.parseFromString(svg, "image/svg+xml").documentElement;
}

test.each([
  [93_000, [0, 20_000, 40_000, 60_000, 80_000, 100_000]],
  [100, [0, 20, 40, 60, 80, 100]],
  [7, [0, 2, 4, 6, 8]],
  [0.3, [0, 0.1, 0.2, 0.3]],
  [11, [0, 2.5, 5, 7.5, 10, 12.5]],
])("an axis up to %d has round ticks", (most, ticks) => {
  expect(scaleTo(most, 100).ticks).toEqual(ticks);
});

test("a scale maps 0 to 0 and its end to the whole length", () => {
  const scale = scaleTo(93, 500);
  expect(scale.end).toBe(100);
  expect([0, 50, 100].map(scale.at)).toEqual([0, 250, 500]);
});

test.each([0, Number.NaN, Number.POSITIVE_INFINITY, -1])(
  "an axis up to %d is one all the same",
  (most) => {
    const { end, ticks } = scaleTo(most, 100);
    expect(end).toBeGreaterThan(0);
    expect(ticks[0]).toBe(0);
    expect(ticks.length).toBeGreaterThan(1);
  },
);

test("bars: one for each contender, as long as its median, with a dot for each round", () => {
  const picture = read(bars(drained));
  const width = (each: { getAttribute(name: string): string | null } | undefined) =>
    Number(each?.getAttribute("width"));
  const drawn = [...picture.querySelectorAll("rect")];
  expect(drawn.map((each) => each.getAttribute("class"))).toEqual(["own", "bar"]);
  expect(width(drawn[0]) / width(drawn[1])).toBeCloseTo(46_000 / 1_234, 0);
  expect(picture.querySelectorAll("circle")).toHaveLength(4);
  expect(picture.getAttribute("aria-label")).toBe('Drain <fast> & "safe"');
  const words = [...picture.querySelectorAll("text")].map((each) => each.textContent);
  expect(words).toContain("one process: rate, jobs/s (more is better)");
  expect(words).toEqual(expect.arrayContaining(["leasehold", "a | b", "46,000", "50k"]));
});

test("bars: nothing lies outside of the picture", () => {
  const picture = read(bars({ ...drained, cases: [...drained.cases, ...drained.cases] }));
  const height = Number(picture.getAttribute("height"));
  for (const each of picture.querySelectorAll("rect")) {
    const from = Number(each.getAttribute("x"));
    expect(from + Number(each.getAttribute("width"))).toBeLessThanOrEqual(760);
    expect(Number(each.getAttribute("y")) + 14).toBeLessThan(height);
  }
  for (const each of picture.querySelectorAll("circle")) {
    expect(Number(each.getAttribute("cx"))).toBeLessThanOrEqual(760);
  }
});

test("bars: a round that came to no number has no dot and spoils no other", () => {
  const [each] = drained.cases;
  const measured = [
    { contender: "leasehold", rounds: rates(Number.NaN), series: [] },
    { contender: "other", rounds: rates(10), series: [] },
  ];
  const svg = bars({ ...drained, cases: [{ name: each?.name ?? "", measured }] });
  expect(svg).not.toContain("NaN");
  expect(read(svg).querySelectorAll("circle")).toHaveLength(1);
});

test("lines: one for each contender, through all of its points, rising where the values do", () => {
  const falling = { contender: "leasehold", series };
  const other = { ...series, points: [[50_000, 10_000] as const, [100_000, 20_000] as const] };
  const picture = read(lines("Rate", [falling, { contender: "other", series: other }]));
  const [first, second] = [...picture.querySelectorAll("polyline")].map((each) =>
    (each.getAttribute("points") ?? "").split(" ").map((point) => point.split(",").map(Number)),
  );
  expect(first).toHaveLength(2);
  expect(first?.[0]?.[0]).toBe(second?.[0]?.[0]);
  expect(first?.[0]?.[1]).toBeLessThan(first?.[1]?.[1] ?? 0);
  expect(second?.[0]?.[1]).toBeGreaterThan(second?.[1]?.[1] ?? 0);
  const words = [...picture.querySelectorAll("text")].map((each) => each.textContent);
  expect(words).toEqual(
    expect.arrayContaining(["leasehold", "other", "jobs run", "Rate, jobs/s", "100k", "60k"]),
  );
});

test("a picture has colours for a dark page as well", () => {
  for (const svg of [bars(drained), lines("Rate", [{ contender: "leasehold", series }])]) {
    expect(svg).toContain("prefers-color-scheme:dark");
    expect(svg).not.toMatch(/undefined|NaN/);
  }
});
