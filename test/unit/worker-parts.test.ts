import { EventEmitter, setMaxListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Alarm } from "../../src/alarm.ts";
import { handlerParts } from "../../src/client-parts.ts";
import { DueTimes } from "../../src/due-times.ts";
import { createEvents } from "../../src/events.ts";
import { inTime, settledWithin } from "../../src/in-time.ts";
import { defineJob, handle } from "../../src/index.ts";
import type { LeaseholdEvents } from "../../src/job-event.ts";
import { Outage } from "../../src/outage.ts";
import { Stopping } from "../../src/stopping.ts";
import { keptLog } from "../worker/support/log.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("an alarm", () => {
  /** When the wait ended, from now; undefined while it has not. */
  function waiting(alarm: Alarm, ms: number) {
    const start = performance.now();
    const wait: { endedAfter?: number } = {};
    void alarm.until(start + ms).then(() => {
      wait.endedAfter = performance.now() - start;
    });
    return wait;
  }

  test("ends a wait at its time, or when it rings", async () => {
    const alarm = new Alarm();
    const long = waiting(alarm, 1_000);
    await pass(999);
    expect(long.endedAfter).toBeUndefined();
    await pass(1);
    expect(long.endedAfter).toBe(1_000);
    const cut = waiting(alarm, Number.POSITIVE_INFINITY);
    await pass(5_000);
    alarm.ring();
    await pass(0);
    expect(cut.endedAfter).toBe(5_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("keeps one ring that comes while nobody waits", async () => {
    const alarm = new Alarm();
    alarm.ring();
    alarm.ring();
    const first = waiting(alarm, 1_000);
    await pass(0);
    expect(first.endedAfter).toBe(0);
    const second = waiting(alarm, 1_000);
    await pass(500);
    expect(second.endedAfter).toBeUndefined();
    await pass(500);
  });

  test("waits longer than a timer can, in turns", async () => {
    const alarm = new Alarm();
    const far = waiting(alarm, 2 ** 40);
    await pass(1_000);
    expect(far.endedAfter).toBeUndefined();
    alarm.ring();
  });
});

describe("a promise that is given a time", () => {
  test("settles as it does, and leaves no timer", async () => {
    expect(await inTime(Promise.resolve(1), 100)).toBe(1);
    await expect(inTime(Promise.reject(new Error("no")), 100)).rejects.toThrow("no");
    await settledWithin(Promise.reject(new Error("no")), 100);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("rejects when that is over, and what it does later harms nobody", async () => {
    let reject: (error: Error) => void = () => undefined;
    const late = new Promise<never>((_, no) => {
      reject = no;
    });
    const given = expect(inTime(late, 100)).rejects.toThrow("100 ms");
    await pass(100);
    await given;
    reject(new Error("late"));
    await pass(0);
  });
});

test("a definition of kinds that hangs is given up, and made anew the next time", async () => {
  let answers = false;
  const call = () => (answers ? Promise.resolve(null) : new Promise<never>(() => undefined));
  const job = handle(defineJob("job"), () => undefined);
  const { defineKinds } = handlerParts({ schema: "leasehold", call }, [job]);
  const hanging = expect(defineKinds()).rejects.toThrow("30000 ms");
  await pass(30_000);
  await hanging;
  answers = true;
  await defineKinds();
});

describe("the times when jobs are due", () => {
  test("come one after the other, each once", () => {
    const times = new DueTimes();
    for (const at of [30, 10, 20, 10]) times.add(at);
    expect([0, 10, 10, 19, 20, 30].map((now) => times.after(now))).toEqual([
      10,
      20,
      20,
      20,
      30,
      Number.POSITIVE_INFINITY,
    ]);
  });

  test("are the next that the database tells, too, which replaces what it told before", () => {
    const times = new DueTimes();
    times.next = 50;
    times.add(80);
    expect(times.after(0)).toBe(50);
    times.next = 60;
    expect([times.after(50), times.after(60), times.after(80)]).toEqual([
      60,
      80,
      Number.POSITIVE_INFINITY,
    ]);
  });

  test("are a thousand at the most, the earliest", () => {
    const times = new DueTimes();
    for (let at = 5_000; at > 0; at -= 1) times.add(at);
    expect([times.after(999), times.after(1_000)]).toEqual([1_000, Number.POSITIVE_INFINITY]);
  });
});

describe("an outage", () => {
  test("is told once, until all that failed is answered again", () => {
    const log = keptLog();
    const events = createEvents<LeaseholdEvents>(() => undefined);
    const told: unknown[] = [];
    events.on("error", (event) => void told.push(event.during));
    const outage = new Outage({ events, log });
    outage.answered("claim");
    for (let i = 0; i < 3; i += 1) {
      outage.failed(new Error("away"), "claim");
      outage.answered("beat");
    }
    outage.failed(new Error("gone"), "beat");
    expect(outage.error).toBe("gone");
    outage.answered("claim");
    expect([told, log.warned.length, log.informed.length]).toEqual([["claim"], 1, 0]);
    outage.answered("beat");
    outage.answered("beat");
    expect([outage.error, log.informed.length]).toEqual([undefined, 1]);
    outage.failed(new Error("again"), "beat");
    expect(told).toEqual(["claim", "beat"]);
  });
});

describe("the end of a worker", () => {
  /** A process that notes what it is sent, in place of the one that runs the tests. */
  class OtherProcess extends EventEmitter {
    readonly pid = 7;
    readonly sent: unknown[] = [];

    kill(...sent: unknown[]): void {
      this.sent.push(sent);
    }
  }

  function stopping(process = new OtherProcess(), signals = true) {
    setMaxListeners(2, process);
    const told: string[] = [];
    const hooks = {
      onStop: () => void told.push("stop"),
      onGraceOver: () => void told.push("grace over"),
    };
    const made = new Stopping({ signals, graceMs: 1_000 }, hooks, process);
    void made.overdue.then(() => told.push("overdue"));
    return { made, told, process };
  }

  test("comes by a signal, through the grace, to its last deadline", async () => {
    for (const signal of ["SIGTERM", "SIGINT"]) {
      const { made, told, process } = stopping();
      process.emit(signal);
      expect([made.reason, told]).toEqual(["signal", ["stop"]]);
      await pass(999);
      expect(told).toEqual(["stop"]);
      await pass(1);
      expect(told).toEqual(["stop", "grace over"]);
      await pass(2_000);
      expect(told).toEqual(["stop", "grace over", "overdue"]);
      expect(process.sent).toEqual([]);
      made.end();
      await pass(999); // in which the application may end by itself
      expect(process.sent).toEqual([]);
      await pass(1);
      expect(process.sent).toEqual([[7, signal]]);
      expect([process.listenerCount("SIGTERM"), process.listenerCount("SIGINT")]).toEqual([0, 0]);
    }
  });

  test("by stop sends no signal, and takes its listeners off", async () => {
    const { made, told, process } = stopping();
    made.begin("stop", 500);
    made.begin("signal", 5_000);
    await pass(500);
    expect([made.reason, told]).toEqual(["stop", ["stop", "grace over"]]);
    made.begin("stop", 0);
    made.end();
    await pass(10_000);
    expect(told).toEqual(["stop", "grace over", "overdue"]);
    expect([process.sent, process.listenerCount("SIGTERM")]).toEqual([[], 0]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("comes sooner by a shorter grace, and not later by a longer one", async () => {
    const { made, told } = stopping();
    made.begin("stop", 5_000);
    made.begin("stop", 100);
    made.begin("stop", 9_000);
    await pass(100);
    expect(told).toEqual(["stop", "grace over"]);
  });

  test("comes at once by a second signal, which is not the first one sent twice", async () => {
    const { made, process } = stopping();
    process.emit("SIGINT");
    await pass(100);
    process.emit("SIGINT");
    expect(process.sent).toEqual([]);
    await pass(300);
    process.emit("SIGINT");
    expect(process.sent).toEqual([[7, "SIGINT"]]);
    made.end();
  });

  test("of one of two leaves the process to the other", async () => {
    const process = new OtherProcess();
    const [one, two] = [stopping(process), stopping(process)];
    process.emit("SIGTERM");
    expect([one.told, two.told]).toEqual([["stop"], ["stop"]]);
    one.made.end();
    await pass(1_000);
    expect(process.sent).toEqual([]);
    two.made.end();
    await pass(1_000);
    expect(process.sent).toEqual([[7, "SIGTERM"]]);
  });

  test("listens to no signal where it is told not to", () => {
    const { process } = stopping(new OtherProcess(), false);
    expect(process.eventNames()).toEqual([]);
  });
});
