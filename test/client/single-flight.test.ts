import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLeasehold, type Leasehold } from "../../src/index.ts";
import { KeptValues } from "../../src/kept-values.ts";
import { deferred } from "../drain/support/client.ts";
import { untouchable } from "../drain/support/interposed.ts";

let leasehold: Leasehold;
beforeEach(() => {
  leasehold = createLeasehold({ database: untouchable });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Loads that end when the test says so; `loads` has them in the order of their calls. */
function loader() {
  const loads: {
    resolve(value: unknown): void;
    reject(error: unknown): void;
    signal: AbortSignal;
  }[] = [];
  const load = ({ signal }: { signal: AbortSignal }) =>
    new Promise<unknown>((resolve, reject) => loads.push({ resolve, reject, signal }));
  return { loads, load };
}

/** What has been settled so far, after everything that is ready has run. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("singleFlight in one process", () => {
  test("loads once for all who ask meanwhile, and all get the same object", async () => {
    const { loads, load } = loader();
    const waiting = Array.from({ length: 100 }, () => leasehold.singleFlight("k", {}, load));
    const value = { tile: 1 };
    loads[0]?.resolve(value);
    for (const got of await Promise.all(waiting)) expect(got).toBe(value);
    expect(loads).toHaveLength(1);
  });

  test("keeps nothing without a ttl, and keys are apart", async () => {
    const load = vi.fn(() => "v");
    await Promise.all(["a", "b", "a"].map((key) => leasehold.singleFlight(key, {}, load)));
    expect(load).toHaveBeenCalledTimes(2);
    await leasehold.singleFlight("a", {}, load);
    expect(load).toHaveBeenCalledTimes(3);
  });

  test.each([[undefined], [null], [0], [""], [false], [Symbol("any")], [new Map([[1, 2]])]])(
    "keeps %o for its ttl, whatever it is",
    async (value) => {
      vi.useFakeTimers();
      const load = vi.fn(() => value);
      for (let i = 0; i < 3; i++) {
        expect(await leasehold.singleFlight("k", { ttl: "10s" }, load)).toBe(value);
      }
      expect(load).toHaveBeenCalledTimes(1);
      vi.advanceTimersByTime(9_999);
      await leasehold.singleFlight("k", { ttl: "10s" }, load);
      expect(load).toHaveBeenCalledTimes(1);
      vi.advanceTimersByTime(1);
      await leasehold.singleFlight("k", { ttl: "10s" }, load);
      expect(load).toHaveBeenCalledTimes(2);
    },
  );

  test("counts the ttl from the end of the load", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout"] });
    const { loads, load } = loader();
    const first = leasehold.singleFlight("k", { ttl: "10s" }, load);
    vi.advanceTimersByTime(60_000);
    const second = leasehold.singleFlight("k", { ttl: "10s" }, load);
    loads[0]?.resolve("v");
    expect(await Promise.all([first, second])).toEqual(["v", "v"]);
    vi.advanceTimersByTime(9_000);
    expect(await leasehold.singleFlight("k", { ttl: "10s" }, load)).toBe("v");
    expect(loads).toHaveLength(1);
  });

  test("never keeps a rejection: all who wait get it, and the next one loads anew", async () => {
    const { loads, load } = loader();
    const waiting = [1, 2, 3].map(() => leasehold.singleFlight("k", { ttl: "1h" }, load));
    const broken = new Error("broken");
    const again = waiting[2]?.catch(() => leasehold.singleFlight("k", { ttl: "1h" }, load));
    loads[0]?.reject(broken);
    for (const one of waiting) await expect(one).rejects.toBe(broken);
    await turn();
    expect(loads).toHaveLength(2);
    loads[1]?.resolve("v");
    expect(await again).toBe("v");
  });

  test("a load that throws at once is a rejection like another", async () => {
    const broken = new Error("at once");
    const load = () => {
      throw broken;
    };
    await expect(leasehold.singleFlight("k", { ttl: 1000 }, load)).rejects.toBe(broken);
    expect(await leasehold.singleFlight("k", { ttl: 1000 }, () => 1)).toBe(1);
  });
});

describe("invalidate", () => {
  test("lets the next one load anew", async () => {
    const load = vi.fn(() => load.mock.calls.length);
    expect(await leasehold.singleFlight("k", { ttl: "1h" }, load)).toBe(1);
    await leasehold.invalidate("other");
    expect(await leasehold.singleFlight("k", { ttl: "1h" }, load)).toBe(1);
    await leasehold.invalidate("k");
    expect(await leasehold.singleFlight("k", { ttl: "1h" }, load)).toBe(2);
  });

  test("an old load's end takes away no newer one, and overwrites nothing (S48)", async () => {
    const { loads, load } = loader();
    const get = () => leasehold.singleFlight("k", { ttl: "1h" }, load);
    const p1 = get();
    void leasehold.invalidate("k");
    const p2 = get();
    expect(loads).toHaveLength(2);
    loads[0]?.resolve("old");
    expect(await p1).toBe("old");
    const p3 = get();
    expect(loads).toHaveLength(2);
    loads[1]?.resolve("new");
    expect(await Promise.all([p2, p3])).toEqual(["new", "new"]);
    expect(await get()).toBe("new");
    expect(loads).toHaveLength(2);
  });

  test("an old load that ends last overwrites nothing either, nor does its failure", async () => {
    const { loads, load } = loader();
    const get = () => leasehold.singleFlight("k", { ttl: "1h" }, load);
    const old = [get()];
    for (let i = 0; i < 2; i++) {
      void leasehold.invalidate("k");
      old.push(get());
    }
    const newest = old.pop();
    loads[2]?.resolve("newest");
    expect(await newest).toBe("newest");
    loads[0]?.resolve("oldest");
    loads[1]?.reject(new Error("old"));
    expect(await old[0]).toBe("oldest");
    await expect(old[1]).rejects.toThrow("old");
    expect(await get()).toBe("newest");
    expect(loads).toHaveLength(3);
  });

  test("a load that was under way is not kept where nobody has asked since", async () => {
    const { loads, load } = loader();
    const old = leasehold.singleFlight("k", { ttl: "1h" }, load);
    void leasehold.invalidate("k");
    loads[0]?.resolve("old");
    expect(await old).toBe("old");
    expect(await leasehold.singleFlight("k", { ttl: "1h" }, () => "new")).toBe("new");
  });
});

describe("a waiter with a signal", () => {
  test("leaves without harm to the others, and the load goes on", async () => {
    const { loads, load } = loader();
    const controller = new AbortController();
    const leaves = leasehold.singleFlight("k", { signal: controller.signal }, load);
    const stays = leasehold.singleFlight("k", {}, load);
    controller.abort(new Error("I have had enough"));
    await expect(leaves).rejects.toThrow("I have had enough");
    expect(loads[0]?.signal.aborted).toBe(false);
    loads[0]?.resolve("v");
    expect(await stays).toBe("v");
  });

  test("the last one who leaves aborts the load, and the next one begins anew", async () => {
    const { loads, load } = loader();
    const controllers = [new AbortController(), new AbortController()];
    const waiting = controllers.map(({ signal }) =>
      leasehold.singleFlight("k", { ttl: "1h", signal }, load),
    );
    for (const one of waiting) one.catch(() => undefined);
    controllers[0]?.abort();
    expect(loads[0]?.signal.aborted).toBe(false);
    controllers[1]?.abort();
    expect(loads[0]?.signal.aborted).toBe(true);
    expect(loads[0]?.signal.reason).toMatchObject({ name: "AbortError" });
    for (const one of waiting) await expect(one).rejects.toMatchObject({ name: "AbortError" });
    const next = leasehold.singleFlight("k", { ttl: "1h" }, load);
    loads[0]?.resolve("nobody's");
    await turn();
    loads[1]?.resolve("v");
    expect(await next).toBe("v");
    expect(await leasehold.singleFlight("k", { ttl: "1h" }, load)).toBe("v");
    expect(loads).toHaveLength(2);
  });

  test("that has aborted already begins nothing", async () => {
    const load = vi.fn();
    const signal = AbortSignal.abort(new Error("before"));
    await expect(leasehold.singleFlight("k", { signal }, load)).rejects.toThrow("before");
    expect(load).not.toHaveBeenCalled();
  });

  test("is left without a listener, and one that aborts afterwards does nothing", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    for (let i = 0; i < 100; i++) await leasehold.singleFlight("k", { signal }, () => i);
    const failing = leasehold.singleFlight("k", { signal }, () => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    expect(getEventListeners(signal, "abort")).toEqual([]);
    controller.abort();
    const other = new AbortController();
    expect(await leasehold.singleFlight("k", { signal: other.signal }, () => 1)).toBe(1);
  });
});

describe("what is kept", () => {
  test("is bounded by entries: the one not asked for the longest makes room", async () => {
    leasehold = createLeasehold({ database: untouchable, cache: { maxEntries: 3 } });
    const load = vi.fn(() => "v");
    const get = (key: string) => leasehold.singleFlight(key, { ttl: "1h" }, load);
    for (const key of ["a", "b", "c", "a", "d"]) await get(key);
    expect(load).toHaveBeenCalledTimes(4);
    for (const key of ["a", "c", "d"]) await get(key);
    expect(load).toHaveBeenCalledTimes(4);
    await get("b");
    expect(load).toHaveBeenCalledTimes(5);
  });

  test("is bounded by bytes, and what takes all the room is not kept", async () => {
    leasehold = createLeasehold({ database: untouchable, cache: { maxBytes: 10_000 } });
    const load = vi.fn((bytes: number) => new Uint8Array(bytes));
    const get = (key: string, bytes: number) =>
      leasehold.singleFlight(key, { ttl: "1h" }, () => load(bytes));
    await get("a", 4_000);
    await get("b", 4_000);
    await get("huge", 10_001);
    await get("a", 4_000);
    await get("b", 4_000);
    expect(load).toHaveBeenCalledTimes(3);
    await get("c", 4_000);
    await get("b", 4_000);
    expect(load).toHaveBeenCalledTimes(4);
    await get("a", 4_000);
    expect(load).toHaveBeenCalledTimes(5);
  });

  test("of ten thousand keys is no more than the bound, and nothing after their ttl", () => {
    vi.useFakeTimers();
    const kept = new KeptValues({ maxEntries: 1_000, maxBytes: 1e9 });
    for (let i = 0; i < 10_000; i++) kept.set(`${i}`, i, 60_000 + i);
    expect(kept.size).toBe(1_000);
    kept.set("soon", 1, 100);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1_000);
    expect(kept.size).toBe(999);
    expect(kept.get("9999")).toMatchObject({ value: 9_999 });
    vi.advanceTimersByTime(71_000);
    expect(kept.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is over when its ttl is, not only when it is looked for", () => {
    vi.useFakeTimers();
    const kept = new KeptValues({ maxEntries: 10, maxBytes: 1e9 });
    kept.set("a", 1, 100);
    vi.advanceTimersByTime(99);
    expect(kept.get("a")).toMatchObject({ value: 1 });
    vi.advanceTimersByTime(1);
    expect([kept.get("a"), kept.size]).toEqual([undefined, 0]);
  });

  test("goes by what close forgets, and by no timer that is left", () => {
    vi.useFakeTimers();
    const kept = new KeptValues({ maxEntries: 10, maxBytes: 1e9 });
    kept.set("a", 1, 1_000);
    kept.clear();
    expect([kept.size, vi.getTimerCount()]).toEqual([0, 0]);
  });
});

describe("arguments", () => {
  const load = () => 1;
  test.each<[string, unknown[], string]>([
    ["a blank key", [" ", {}, load], "LH002"],
    ["a long key", ["x".repeat(501), {}, load], "LH004"],
    ["a key that is no text", [7, {}, load], "LH002"],
    ["no load", ["k", {}], "LH002"],
    ["a ttl of nothing", ["k", { ttl: 0 }, load], "LH002"],
    ["a ttl of words", ["k", { ttl: "soon" }, load], "LH002"],
    ["an unknown option", ["k", { tll: "1s" }, load], "LH003"],
    ["a signal that is none", ["k", { signal: {} }, load], "LH002"],
    ["shared without a ttl", ["k", { shared: true }, load], "LH002"],
    ["shared by a word", ["k", { ttl: 1, shared: "yes" }, load], "LH002"],
    ["an unknown option of shared", ["k", { ttl: 1, shared: { leese: 1 } }, load], "LH003"],
    ["a lease of nothing", ["k", { ttl: 1, shared: { lease: 0 } }, load], "LH002"],
  ])("singleFlight refuses %s", async (_, values, code) => {
    const [key, options, fn] = values as Parameters<Leasehold["singleFlight"]>;
    await expect(leasehold.singleFlight(key, options, fn)).rejects.toMatchObject({ code });
  });

  test("invalidate and createLeasehold refuse what they do not know", async () => {
    const wrong = { shared: 1 } as unknown as { shared: boolean };
    await expect(leasehold.invalidate("k", wrong)).rejects.toMatchObject({ code: "LH002" });
    await expect(leasehold.invalidate("")).rejects.toMatchObject({ code: "LH002" });
    for (const cache of [{ maxEntries: -1 }, { maxBytes: 0.5 }, { entries: 1 }]) {
      expect(() => createLeasehold({ database: untouchable, cache } as object)).toThrow(
        /LH|max|entries/,
      );
    }
  });
});

test("a load may ask for other keys, and for its own after its end", async () => {
  const inner = deferred<number>();
  const outer = leasehold.singleFlight("outer", {}, async () => {
    return 1 + (await leasehold.singleFlight("inner", {}, () => inner.promise));
  });
  inner.resolve(1);
  expect(await outer).toBe(2);
});
