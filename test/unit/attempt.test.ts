import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { JobAbortedError } from "../../src/abort.ts";
import { Attempt, type AttemptOptions, runAttempt } from "../../src/attempt.ts";
import { defineJob, handle } from "../../src/define.ts";
import type { Job } from "../../src/job.ts";
import { LeaseWheel } from "../../src/lease-wheel.ts";
import { type Logger, silentLogger } from "../../src/logger.ts";
import { timeouts } from "../../src/timeouts.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

const answers = { held: true, cancel_requested: false, busy: false };

/** What an attempt of this handler is made of, with an hour's time and a grace of half a second. */
function options(run: (job: Job) => unknown, given: Partial<AttemptOptions> = {}): AttemptOptions {
  const call = async () => answers;
  return {
    database: { schema: "leasehold", call },
    leases: new LeaseWheel(call),
    claimed: {
      ...{ id: "a", kind: "mail", key: null, owner: null, payload: { n: 1 } },
      ...{ attempts: 2, max_attempts: 5, generation: 3, releases: 0, budget_releases: 0 },
      ...{ run_after: "", lease_until: "", timeout_at: "" },
    },
    handled: handle(defineJob("mail"), run),
    log: silentLogger,
    timeoutMs: 3_600_000,
    graceMs: 500,
    onError: () => undefined,
    ...given,
  };
}

const forever = () => new Promise<never>(() => undefined);

describe("the signal of an attempt", () => {
  test.each(["lost", "cancel", "timeout", "budget", "shutdown"] as const)(
    "that is first read after the abort is aborted, with the reason: %s",
    async (because) => {
      const seen: unknown[] = [];
      const attempt = new Attempt(
        options(async (job) => {
          attempt.abort(because);
          attempt.abort("shutdown");
          const { signal } = job;
          seen.push(signal.aborted, signal.reason, signal === job.signal);
        }),
      );
      await attempt.run();
      expect(seen).toEqual([true, new JobAbortedError(because), true]);
    },
  );

  test("is one and the same however often it is read, and tells its listeners once", async () => {
    const heard: unknown[] = [];
    const attempt = new Attempt(
      options(async (job) => {
        const { signal } = job;
        signal.addEventListener("abort", () => heard.push(signal.reason));
        expect([{ ...job }.signal, Object.keys(job).includes("signal")]).toEqual([signal, true]);
        attempt.abort("cancel");
        attempt.abort("lost");
      }),
    );
    expect(await attempt.run()).toEqual({ action: "complete", result: undefined });
    expect(heard).toEqual([new JobAbortedError("cancel")]);
  });

  test("aborts at the timeout, also where the handler reads it only after that", async () => {
    const reasons: unknown[] = [];
    const running = new Attempt(
      options(
        async (job) => {
          await new Promise((resolve) => setTimeout(resolve, 150));
          reasons.push(job.signal.reason);
          job.signal.throwIfAborted();
        },
        { timeoutMs: 100 },
      ),
    ).run();
    await pass(150);
    expect(reasons).toEqual([new JobAbortedError("timeout")]);
    expect(await running).toMatchObject({ action: "fail", error: { code: "TIMEOUT" } });
  });
});

describe("an attempt", () => {
  test("does not begin its handler where it was told to stop before", async () => {
    const run = vi.fn();
    const attempt = new Attempt(options(run));
    const running = attempt.run();
    attempt.abort("shutdown");
    expect(await running).toEqual({ action: "release", retryAfterMs: 0, code: "SHUTDOWN" });
    expect(run).not.toHaveBeenCalled();
  });

  test("begins its handler only after the code that begins it", async () => {
    const said: string[] = [];
    const running = new Attempt(options(() => void said.push("handler"))).run();
    said.push("all are in hand");
    await running;
    expect(said).toEqual(["all are in hand", "handler"]);
  });

  test("ends a grace after it was told to stop, whatever its handler does; a cancel waits", async () => {
    const ended: unknown[] = [];
    const attempt = new Attempt(options(forever));
    const running = attempt.run().then((outcome) => ended.push(outcome));
    await pass(0); // it begins
    attempt.abort("cancel");
    await pass(10_000);
    expect(ended).toEqual([]);
    attempt.abort("shutdown");
    await pass(499);
    attempt.abort("timeout"); // does not prolong it
    expect(ended).toEqual([]);
    await pass(1);
    await running;
    expect(ended).toMatchObject([{ action: "fail", error: { code: "CANCELLED" } }]);
  });

  test("leaves no timer, however it ends", async () => {
    const endings: ((job: Job) => unknown)[] = [
      () => undefined,
      async () => undefined,
      () => ({ an: "object" }),
      () => Promise.reject(new Error("thrown")),
      () => {
        throw new Error("thrown at once");
      },
      (job) => job.release(),
    ];
    const added = vi.spyOn(timeouts, "add");
    const takenBack = vi.spyOn(timeouts, "delete");
    for (const run of endings) {
      for (const stop of [false, true]) {
        const attempt = new Attempt(options(run));
        if (stop) attempt.abort("shutdown");
        await attempt.run();
        expect(vi.getTimerCount()).toBe(0);
        attempt.abort("lost"); // as the watch over an open transaction may say too late
        expect(vi.getTimerCount()).toBe(0);
        expect(takenBack.mock.lastCall).toEqual([added.mock.results.at(-1)?.value]);
      }
    }
    expect(takenBack).toHaveBeenCalledTimes(2 * endings.length);
  });

  test("takes the result of whatever can be awaited", async () => {
    // biome-ignore lint/suspicious/noThenProperty: that is what is tested
    const thenable = { then: (take: (value: number) => void) => take(7) };
    for (const [answer, result] of [
      [7, 7],
      [Promise.resolve(7), 7],
      [thenable, 7],
      [null, null],
      [{ seven: 7 }, { seven: 7 }],
    ]) {
      expect(await new Attempt(options(() => answer)).run()).toEqual({
        action: "complete",
        result,
      });
    }
  });

  test("makes its logger when it is first asked for, and only once", async () => {
    const child = vi.fn((_: object): Logger => silentLogger);
    const log = { ...silentLogger, child };
    await new Attempt(options(() => undefined, { log })).run();
    expect(child).not.toHaveBeenCalled();
    const seen: Logger[] = [];
    await new Attempt(options((job) => void seen.push(job.log, job.log), { log })).run();
    expect(seen).toEqual([silentLogger, silentLogger]);
    expect(child.mock.calls).toEqual([[{ job: "a", kind: "mail" }]]);
  });

  test("lets its handler take the methods of the job out, and copy it", async () => {
    const outcome = await new Attempt(
      options(async (job) => {
        const { extend, release } = { ...job };
        expect(await extend()).toBe(true);
        release({ after: "5s" });
      }),
    ).run();
    expect(outcome).toEqual({ action: "release", retryAfterMs: 5_000, code: "RELEASED" });
  });
});

describe("a stop that an attempt heeds", () => {
  test("tells its reason, also where it was aborted before, and is left without a listener", async () => {
    for (const [reason, code] of [
      [new JobAbortedError("budget"), "BUDGET_EXCEEDED"],
      [undefined, "SHUTDOWN"],
    ] as const) {
      const stop = new AbortController();
      const removed = vi.spyOn(stop.signal, "removeEventListener");
      const running = runAttempt({ ...options(forever), stop: stop.signal });
      await pass(0);
      stop.abort(reason);
      await pass(500);
      expect(await running).toMatchObject({ action: "release", code });
      expect(removed).toHaveBeenCalledTimes(1);
      expect(await runAttempt({ ...options(forever), stop: stop.signal })).toMatchObject({ code });
    }
  });
});
