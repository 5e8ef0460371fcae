import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Arguments } from "../../src/database.ts";
import { Presence } from "../../src/presence.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

interface Call {
  name: string;
  at: number;
  idle: unknown;
  ttlMs: number;
}

/** A presence whose database answers by `answer`, and what it was asked. */
async function begun(answer: (call: Call) => unknown = () => undefined, intervalMs = () => 10_000) {
  const calls: Call[] = [];
  const errors: unknown[] = [];
  const call = async (name: string, args: Arguments): Promise<unknown> => {
    const { idle, ttl_ms } = (args.p_state ?? {}) as { idle?: boolean; ttl_ms: number };
    const made = { name, at: performance.now(), idle, ttlMs: ttl_ms };
    calls.push(made);
    return (await answer(made)) ?? { due: false, next_ms: null, idle_workers: 1 };
  };
  const presence = new Presence({
    database: { schema: "leasehold", call },
    wakeups: { listening: false } as never,
    identity: { name: "w", kinds: ["k"], concurrency: 1 },
    intervalMs,
    onAnswer: () => undefined,
    onError: (error: unknown) => void errors.push(error),
  } as never);
  await presence.begin();
  presence.start();
  calls.length = 0;
  return { presence, calls, errors };
}

describe("a worker's presence", () => {
  test("never expires before the next beat, however the interval changes between", async () => {
    let every = 200;
    let answered = 0;
    const { presence, calls } = await begun(
      () => {
        answered += 1;
        if (answered === 3) every = 30_000; // it has been idle for long, from this very beat on
        return undefined;
      },
      () => every,
    );
    await pass(100_000);
    expect(calls.length).toBeGreaterThanOrEqual(3);
    for (const [i, { at, ttlMs }] of calls.entries()) {
      const next = calls[i + 1];
      if (next !== undefined) expect(next.at - at).toBeLessThan(ttlMs);
    }
    await presence.stop(0);
  });

  test("tells at once that it is idle, and that it is busy only when that lasts", async () => {
    const { presence, calls } = await begun();
    presence.idle = true;
    await pass(0);
    expect(calls).toMatchObject([{ idle: true }]);
    presence.idle = false;
    await pass(200);
    presence.idle = true;
    await pass(1_000);
    expect(calls).toHaveLength(1);
    presence.idle = false;
    await pass(300);
    expect(calls).toMatchObject([{ idle: true }, { idle: false }]);
    await presence.stop(0);
  });

  test("asks again soon after a failure, and goes on", async () => {
    let fail = false;
    const { presence, errors } = await begun(({ name }) => {
      if (fail && name === "worker_beat") throw new Error("away");
      return undefined;
    });
    fail = true;
    presence.refresh();
    await pass(3_500);
    expect(errors.length).toBeGreaterThanOrEqual(2);
    fail = false;
    await pass(10_000);
    const failed = errors.length;
    await pass(60_000);
    expect(errors).toHaveLength(failed);
    await presence.stop(0);
  });

  test("is taken away after the beat that is under way, which would write it again", async () => {
    let release: () => void = () => undefined;
    const { presence, calls } = await begun(({ idle }) =>
      idle ? new Promise<void>((resolve) => (release = resolve)) : undefined,
    );
    presence.idle = true;
    await pass(0);
    const stopping = presence.stop(1_000);
    await pass(500);
    expect(calls.map(({ name }) => name)).toEqual(["worker_beat"]);
    release();
    await stopping;
    expect(calls.map(({ name }) => name)).toEqual(["worker_beat", "worker_stop"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("does not begin any more where it was stopped before", async () => {
    const { presence, calls } = await begun();
    await presence.stop(1_000);
    await presence.begin();
    expect(calls.map(({ name }) => name)).toEqual(["worker_stop"]);
  });
});
