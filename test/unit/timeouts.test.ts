import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Timeouts } from "../../src/timeouts.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("timeouts", () => {
  test("come once each, at their time, the earliest first, a thousand on one timer", async () => {
    const timeouts = new Timeouts();
    const came: { ms: number; at: number }[] = [];
    const began = performance.now();
    // 7919 is prime to 1000: all of 1 to 1000, in no order.
    const all = Array.from({ length: 1_000 }, (_, i) => ((i * 7_919) % 1_000) + 1);
    for (const ms of all) timeouts.add(ms, () => came.push({ ms, at: performance.now() - began }));
    expect(vi.getTimerCount()).toBe(1);
    await pass(2_000);
    expect(came).toEqual(Array.from({ length: 1_000 }, (_, i) => ({ ms: i + 1, at: i + 1 })));
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that came due while the event loop was busy come in the order of their times", async () => {
    const timeouts = new Timeouts();
    const came: number[] = [];
    for (const ms of [30, 10, 20, 40]) timeouts.add(ms, () => came.push(ms));
    const began = performance.now();
    const clock = vi.spyOn(performance, "now").mockReturnValue(began + 100);
    await pass(10);
    clock.mockRestore();
    expect([came, vi.getTimerCount()]).toEqual([[10, 20, 30, 40], 0]);
  });

  test("that are taken back do not come, and leave no timer when they were the last", async () => {
    const timeouts = new Timeouts();
    const came: string[] = [];
    const first = timeouts.add(10, () => came.push("first"));
    const last = timeouts.add(20, () => came.push("last"));
    timeouts.delete(first);
    await pass(15);
    expect([came, vi.getTimerCount()]).toEqual([[], 1]);
    timeouts.delete(last);
    timeouts.delete(last);
    expect(vi.getTimerCount()).toBe(0);
    await pass(100);
    expect(came).toEqual([]);
    timeouts.add(5, () => came.push("after an empty time"));
    await pass(5);
    expect([came, vi.getTimerCount()]).toEqual([["after an empty time"], 0]);
  });

  test("may take back others that are due with them, and add new ones", async () => {
    const timeouts = new Timeouts();
    const came: string[] = [];
    timeouts.add(10, () => {
      came.push("first");
      timeouts.delete(second);
      timeouts.add(5, () => came.push("added"));
    });
    const second = timeouts.add(10, () => came.push("second"));
    await pass(10);
    expect(came).toEqual(["first"]);
    await pass(5);
    expect([came, vi.getTimerCount()]).toEqual([["first", "added"], 0]);
  });

  test("longer than a timer can wait come at their time", async () => {
    const timeouts = new Timeouts();
    const came: number[] = [];
    const ms = 2 ** 31 + 10;
    timeouts.add(ms, () => came.push(performance.now()));
    const began = performance.now();
    await pass(ms - 1);
    expect(came).toEqual([]);
    await pass(1);
    expect(came).toEqual([began + ms]);
  });
});
