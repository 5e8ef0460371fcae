import { expect, test, vi } from "vitest";
import type { DrainOptions, DrainReport } from "../../src/drain.ts";
import { JoinedDrains } from "../../src/joined-drains.ts";
import { deferred } from "./support/client.ts";

interface Begun {
  readonly options: DrainOptions;
  readonly report: DrainReport;
  end(): void;
  fail(error: Error): void;
}

const reserve = 1_000;

/** Drains that end when the test says so. */
function staged(given: DrainOptions = { budget: 60_000, reserve, maxJobs: 2 }) {
  const begun: Begun[] = [];
  let running = 0;
  const drains = new JoinedDrains(
    async (options) => {
      const end = deferred();
      const report = { reason: "empty", processed: begun.length } as DrainReport;
      let failure: Error | undefined;
      const fail = (error: Error) => {
        failure = error;
        end.resolve();
      };
      begun.push({ options, report, end: end.resolve, fail });
      running += 1;
      expect(running).toBe(1);
      await end.promise;
      running -= 1;
      if (failure !== undefined) throw failure;
      return report;
    },
    ["a", "b"],
  );
  return { begun, run: (options: DrainOptions = given) => drains.run(options) };
}

/** All that can happen without time's passing has happened. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

test("those who ask while one runs get one more after it, together", async () => {
  const { begun, run } = staged();
  const first = run();
  let ended = 0;
  const others = Array.from({ length: 3 }, () => run().finally(() => (ended += 1)));
  await settled();
  expect(begun).toHaveLength(1);
  begun[0]?.end();
  expect(await first).toBe(begun[0]?.report);
  await settled();
  expect(begun.map(({ options }) => options.maxJobs)).toEqual([2, 6]);
  expect(ended).toBe(0);
  begun[1]?.end();
  // One of them has the report, so that nobody counts a job twice.
  expect(await Promise.all(others)).toEqual([begun[1]?.report, undefined, undefined]);
  await settled();
  expect(begun).toHaveLength(2);
});

test("the first does not wait for those who follow", async () => {
  const { begun, run } = staged();
  const first = run();
  void run();
  begun[0]?.end();
  await first;
  await settled();
  expect(begun).toHaveLength(2);
});

test("who asks while the following one runs gets a third", async () => {
  const { begun, run } = staged();
  void run();
  void run();
  begun[0]?.end();
  await settled();
  const late = run();
  await settled();
  expect(begun).toHaveLength(2);
  begun[1]?.end();
  await settled();
  expect(begun).toHaveLength(3);
  begun[2]?.end();
  expect(await late).toBe(begun[2]?.report);
});

test("nobody is lost who asks just as one ends", async () => {
  // As many turns of the microtask queue between the end and the question as matter, and some more.
  for (let turns = 0; turns < 12; turns += 1) {
    const { begun, run } = staged();
    void run();
    begun[0]?.end();
    for (let i = 0; i < turns; i += 1) await Promise.resolve();
    const asked = run();
    await settled();
    expect(begun, `after ${turns} turns`).toHaveLength(2);
    begun[1]?.end();
    expect(await asked).toBe(begun[1]?.report);
  }
});

test("never do two run at a time, whenever one is asked for, with whatever bounds", async () => {
  for (let turns = 0; turns < 12; turns += 1) {
    const { begun, run } = staged();
    const asked = [run(), run(), run({ kinds: ["a"] })];
    begun[0]?.end();
    for (let i = 0; i < turns; i += 1) await Promise.resolve();
    asked.push(run(), run({ kinds: ["b"] }));
    for (let i = 1; i < 6; i += 1) {
      await settled();
      begun[i]?.end();
    }
    await Promise.all(asked);
  }
});

test("other bounds are another drain, in the order in which they were asked for", async () => {
  const { begun, run } = staged();
  const { signal } = new AbortController();
  const kinds = [["a"], ["b"], ["a"], ["a"]];
  void run();
  for (const own of kinds) void run({ kinds: own });
  void run({ kinds: ["a"], signal });
  void run({ kinds: ["a"], signal });
  for (let i = 0; i < 5; i += 1) {
    await settled();
    begun[i]?.end();
  }
  const told = begun.map(({ options }) => [options.kinds, options.maxJobs, options.signal]);
  expect(told).toEqual([
    [undefined, 2, undefined],
    [["a"], 9, undefined],
    [["b"], 3, undefined],
    [["a"], 3, signal],
    [["a"], 3, signal],
  ]);
});

test("one that fails is the first asker's to know, and is no end for those who follow", async () => {
  const { begun, run } = staged();
  const first = run();
  const [second, joined] = [run(), run()];
  begun[0]?.fail(new Error("away"));
  await expect(first).rejects.toThrow("away");
  await settled();
  begun[1]?.fail(new Error("still away"));
  await expect(second).rejects.toThrow("still away");
  expect(await joined).toBeUndefined();
  const later = run();
  await settled();
  begun[2]?.end();
  expect(await later).toBe(begun[2]?.report);
});

test("after SIGTERM those who wait get none: it would claim", async () => {
  const { begun, run } = staged();
  const first = run();
  const waiting = [run(), run({ kinds: ["a"] })];
  await settled();
  Object.assign(begun[0]?.report ?? {}, { reason: "sigterm" });
  begun[0]?.end();
  expect(await first).toMatchObject({ reason: "sigterm" });
  expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
  expect(begun).toHaveLength(1);
  // A process that goes on all the same is not locked for ever.
  const later = run();
  await settled();
  begun[1]?.end();
  expect(await later).toBe(begun[1]?.report);
});

test("refuses bad options at once, whatever runs", async () => {
  const { run } = staged();
  void run();
  await expect(run({ budget: "soon" as "1s" })).rejects.toMatchObject({ code: "LH002" });
  await expect(run({ kinds: ["unknown"] })).rejects.toMatchObject({ code: "LH002" });
});

test("one after the other has the whole budget; who waited has what is left of it", async () => {
  let now = 5_000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  const { begun, run } = staged();
  const first = run();
  now += 10_000;
  begun[0]?.end();
  await first;
  await settled();
  void run();
  const waited = [run()];
  now += 3_000;
  // The time of the last counts: the time of a function counts from its own request.
  waited.push(run());
  now += 7_000;
  begun[1]?.end();
  await settled();
  expect(begun.map(({ options }) => options.budget)).toEqual([60_000, 60_000, 53_000]);
  begun[2]?.end();
  await Promise.all(waited);
  clock.mockRestore();
});

test("who waited for as long as the budget is let go; the last of them gets the report", async () => {
  // The budgets are those of real timers: a request's end must not wait for the clock of a test.
  const { begun, run } = staged({ budget: 100, reserve: 1, maxJobs: 2 });
  const running = run();
  const early = run();
  let left = false;
  void early.then(() => {
    left = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 60));
  const late = run();
  begun[0]?.end();
  await running;
  expect(await early).toBeUndefined();
  expect([left, begun.length]).toEqual([true, 2]);
  begun[1]?.end();
  expect(await late).toBe(begun[1]?.report);
});

test("the last one stays to the end, however long that takes", async () => {
  const { begun, run } = staged({ budget: 40, reserve: 1 });
  const running = run();
  const last = run();
  begun[0]?.end();
  await running;
  await new Promise((resolve) => setTimeout(resolve, 60));
  begun[1]?.end();
  expect(await last).toBe(begun[1]?.report);
});

test("who waited until no more than the reserve is left gets none, and is no obstacle", async () => {
  const { begun, run } = staged({ budget: 30, reserve: 10 });
  void run();
  const waited = run();
  await new Promise((resolve) => setTimeout(resolve, 40));
  begun[0]?.end();
  expect(await waited).toBeUndefined();
  const later = run();
  await settled();
  expect(begun).toHaveLength(2);
  begun[1]?.end();
  await later;
});
