import { expect, test } from "vitest";
import type { Benchmark } from "../../bench/harness/benchmark.ts";
import type { Measured } from "../../bench/harness/figures.ts";
import { TooSlow } from "../../bench/harness/place.ts";
import type { Results } from "../../bench/harness/results.ts";
import { fastestRivals, type Measuring, runAll } from "../../bench/harness/run.ts";
import { rates } from "./results.ts";

const benchmark: Benchmark = {
  name: "drain",
  title: "Drain",
  about: "",
  cases: [{ name: "one process", measure: async () => measured(1) }],
};

function measured(rate: number): Measured {
  return { figures: rates(rate)[0] ?? [] };
}

/** What a run of these comes to, and in which order it asked. */
async function runOf(
  benchmarks: readonly Benchmark[],
  contenders: readonly { name: string; cannot?: Record<string, string> }[],
  measuring: Measuring = async () => measured(1),
  options: { rounds?: number; quick?: boolean } = {},
) {
  const results: Pick<Results, "benchmarks" | "omitted" | "failed"> = {
    benchmarks: [],
    omitted: [],
    failed: [],
  };
  const asked: string[] = [];
  let saved = 0;
  await runAll(
    (contender, measure) => {
      asked.push(contender);
      return measuring(contender, measure);
    },
    benchmarks,
    contenders,
    results,
    { rounds: 2, quick: false, tell: () => undefined, save: () => (saved += 1), ...options },
  );
  return { ...results, asked, saved };
}

const ab = [{ name: "a" }, { name: "b" }];

test("rounds alternate, and each is kept", async () => {
  let rate = 0;
  const run = await runOf([benchmark], ab, async () => measured(++rate));
  expect(run.asked).toEqual(["a", "b", "a", "b"]);
  expect(run.benchmarks[0]?.cases[0]?.measured).toEqual([
    { contender: "a", rounds: rates(1, 3), series: [] },
    { contender: "b", rounds: rates(2, 4), series: [] },
  ]);
  expect(run.saved).toBe(1);
});

test("who fails in one round has no figure, and the others go on", async () => {
  let asked = 0;
  const run = await runOf([benchmark], ab, async (contender) => {
    asked += 1;
    if (contender === "a" && asked > 2) throw new Error("No figure, since 1 jobs ran twice: 5");
    return measured(7);
  });
  expect(run.benchmarks[0]?.cases[0]?.measured).toEqual([
    { contender: "b", rounds: rates(7, 7), series: [] },
  ]);
  const place = { benchmark: "drain", case: "one process", contender: "a" };
  expect(run.failed).toEqual([{ ...place, reason: "No figure, since 1 jobs ran twice: 5" }]);
  expect(run.omitted).toEqual([]);
});

test("who is too slow to be filled is left out, asked once, and has not failed", async () => {
  const run = await runOf([benchmark], ab, async (contender) => {
    if (contender === "b") throw new TooSlow("it takes more than 180 s");
    return measured(1);
  });
  expect(run.asked).toEqual(["a", "b", "a"]);
  expect(run.failed).toEqual([]);
  expect(run.omitted).toMatchObject([{ contender: "b", reason: "it takes more than 180 s" }]);
});

test("who can't do it is not asked, and its reason is told", async () => {
  const run = await runOf([benchmark], [{ name: "a" }, { name: "b", cannot: { drain: "why" } }]);
  expect(run.asked).toEqual(["a", "a"]);
  expect(run.omitted).toEqual([{ benchmark: "drain", case: "", contender: "b", reason: "why" }]);
});

test("a quick run leaves out what is heavy, and measures once what need not be repeated", async () => {
  const measure = async () => measured(1);
  const cases = [
    { name: "light", measure },
    { name: "heavy", heavy: true, measure },
  ];
  const own: Benchmark = { ...benchmark, once: true, cases };
  const quick = await runOf([own], [{ name: "a" }], undefined, { quick: true, rounds: 3 });
  expect(quick.asked).toHaveLength(1);
  expect(quick.benchmarks[0]?.cases.map(({ name }) => name)).toEqual(["light"]);
  const whole = await runOf([own], [{ name: "a" }], undefined, { rounds: 3 });
  expect(whole.asked).toHaveLength(6);
  const bounded = await runOf([{ ...own, maxRounds: 2 }], [{ name: "a" }], undefined, {
    rounds: 3,
  });
  expect(bounded.asked).toHaveLength(4);
});

test("the two rivals that drain fastest are measured over long, beside leasehold", async () => {
  const speed: Record<string, number> = {
    leasehold: 9,
    "bare SQL": 10,
    slow: 1,
    fast: 5,
    faster: 6,
  };
  const contenders = Object.keys(speed).map((name) => ({ name }));
  const long: Benchmark = { ...benchmark, name: "xmin", long: true };
  const run = await runOf(
    [benchmark, long],
    contenders,
    async (name) => measured(speed[name] ?? 0),
    {
      rounds: 1,
    },
  );
  expect(run.asked.slice(5)).toEqual(["leasehold", "fast", "faster"]);
  expect(fastestRivals(run)).toEqual(["faster", "fast"]);
  expect(fastestRivals({ benchmarks: [] })).toBeUndefined();
});
