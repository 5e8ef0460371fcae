import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LeaseWheel } from "../../src/lease-wheel.ts";

const held = { held: true, cancel_requested: false, busy: false };

interface Call {
  name: string;
  ids: string[];
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => void vi.useRealTimers());

/** A wheel whose database answers as told. */
function wheel(answer: (id: string) => object | Promise<object> = () => held) {
  const calls: Call[] = [];
  const told: string[] = [];
  const made = new LeaseWheel(async (name, args) => {
    const claims = (args.p_claims ?? [{ id: args.p_id }]) as { id: string }[];
    const ids = claims.map(({ id }) => id);
    calls.push({ name, ids });
    const answers = await Promise.all(ids.map(answer));
    return name === "extend_many" ? answers : answers[0];
  });
  const keep = (id: string, leaseMs = 3_000) =>
    made.keep({
      id,
      generation: 1,
      leaseMs,
      onLost: () => told.push(`${id} lost`),
      onCancel: () => told.push(`${id} cancelled`),
      onError: () => told.push(`${id} error`),
    });
  return { calls, told, keep };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("a wheel of leases", () => {
  test("renews each every third of its length, those due about the same time in one call", async () => {
    const { calls, keep } = wheel();
    for (const id of ["a", "b", "c"]) keep(id);
    await pass(100);
    keep("d"); // due a tenth later, within the slack
    keep("long", 60_000);
    await pass(900);
    expect(calls).toEqual([{ name: "extend_many", ids: ["a", "b", "c", "d"] }]);
    await pass(1_000);
    expect(calls).toHaveLength(2);
    await pass(18_100);
    expect(calls.filter(({ ids }) => ids.includes("long"))).toHaveLength(1);
    expect(calls.length).toBeLessThanOrEqual(21);
  });

  test("renews one alone by extend", async () => {
    const { calls, keep } = wheel();
    keep("a");
    await pass(1_000);
    expect(calls).toEqual([{ name: "extend", ids: ["a"] }]);
  });

  test("splits a great many into several calls", async () => {
    const { calls, keep } = wheel();
    for (let i = 0; i < 2_500; i += 1) keep(String(i));
    await pass(1_000);
    expect(calls.map(({ ids }) => ids.length)).toEqual([1_000, 1_000, 500]);
  });

  test("tries again sooner after a failure and where the job is busy, and goes on trying", async () => {
    for (const answer of [
      () => Promise.reject(new Error("away")),
      () => ({ ...held, busy: true }),
    ]) {
      const { calls, keep } = wheel(answer);
      keep("a");
      await pass(1_000);
      expect(calls).toHaveLength(1);
      await pass(300);
      expect(calls).toHaveLength(2);
      await pass(6_000); // twice the lease
      expect(calls.length).toBeGreaterThanOrEqual(20);
    }
  });

  test("tells those whose claim is gone or cancelled, and asks no more for the gone", async () => {
    const { calls, told, keep } = wheel((id) => {
      if (id === "gone") return { held: false, cancel_requested: false, busy: false };
      return { ...held, cancel_requested: id === "cancelled" };
    });
    for (const id of ["gone", "cancelled", "fine"]) keep(id);
    await pass(1_000);
    expect(told).toEqual(["gone lost", "cancelled cancelled"]);
    await pass(1_000);
    expect(calls[1]?.ids).toEqual(["cancelled", "fine"]);
  });

  test("tells each of a failed call, and one that waits for its turn too", async () => {
    let fail = true;
    const { told, keep } = wheel(() => (fail ? Promise.reject(new Error("away")) : held));
    keep("a");
    const b = keep("b");
    const extending = b.extend().catch(() => "rejected");
    await pass(1_000);
    expect(await extending).toBe("rejected");
    expect(told).toContain("a error");
    fail = false;
    expect(await b.extend()).toBe(true);
  });

  test("leaves a paused lease alone, renews it at once when it goes on, and never after its stop", async () => {
    const { calls, keep } = wheel();
    const lease = keep("a");
    await lease.pause();
    await pass(10_000);
    expect(calls).toEqual([]);
    await lease.resume();
    expect(calls).toHaveLength(1);
    await pass(1_000);
    expect(calls).toHaveLength(2);
    await lease.stop();
    await lease.resume();
    expect(await lease.extend()).toBe(false);
    await pass(10_000);
    expect(calls).toHaveLength(2);
  });

  test("waits with the stop for an extend that is under way", async () => {
    let answer: (value: object) => void = () => undefined;
    const { keep } = wheel(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const lease = keep("a");
    await pass(1_000);
    let stopped = false;
    const stopping = lease.stop().then(() => {
      stopped = true;
    });
    await pass(4_000);
    expect(stopped).toBe(false);
    answer(held);
    await stopping;
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    [1_000, 5_000],
    [12_000, 12_000],
    [600_000, 30_000],
  ])(
    "takes a renewal of a lease of %d ms for failed after %d ms without an answer, and tries again",
    async (leaseMs, patienceMs) => {
      const { calls, told, keep } = wheel(() => new Promise<never>(() => undefined));
      const lease = keep("a", leaseMs);
      await pass(Math.floor(leaseMs / 3) + patienceMs - 1);
      expect(calls).toHaveLength(1);
      expect(told).toEqual([]);
      await pass(1);
      expect(told).toEqual(["a error"]);
      await pass(Math.min(leaseMs / 10, 5_000) + 1);
      expect(calls).toHaveLength(2);
      const stopping = lease.stop();
      await pass(patienceMs);
      await stopping;
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  test("gives a call for many as long as the shortest of their leases", async () => {
    const { told, keep } = wheel(() => new Promise<never>(() => undefined));
    keep("a", 24_000);
    keep("b", 24_300);
    await pass(8_000 + 23_999);
    expect(told).toEqual([]);
    await pass(1);
    expect(told).toEqual(["a error", "b error"]);
  });

  test("takes the word of another that a claim is gone, and asks no more", async () => {
    const { calls, told, keep } = wheel();
    keep("a").lose();
    await pass(10_000);
    expect(told).toEqual(["a lost"]);
    expect(calls).toEqual([]);
  });

  test("has no timer where there is no lease, and one however many there are", async () => {
    const { keep } = wheel();
    expect(vi.getTimerCount()).toBe(0);
    const leases = Array.from({ length: 50 }, (_, i) => keep(String(i), 3_000 + i * 100));
    await pass(7_000);
    expect(vi.getTimerCount()).toBe(1);
    for (const lease of leases) await lease.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
