import { describe, expect, test } from "vitest";
import type { PlacedJob } from "../../src/claim.ts";
import { LastPositions } from "../../src/positions.ts";

const jobs = (...places: [priority: number, run_after: string, id: string][]) =>
  places.map(([priority, run_after, id]) => ({ priority, run_after, id }) as PlacedJob);

/** Full claims from the start and on, at these times. */
function used() {
  const positions = new LastPositions();
  const claim = (now: number, claimed: PlacedJob[], { slots = claimed.length, ms = 2 } = {}) => {
    const after = positions.next(now);
    positions.took(claimed, { slots, fromStart: after === null, ms, now });
    return after;
  };
  return { positions, claim };
}

describe("where the last claims ended", () => {
  test("is where the next one begins, in each priority", () => {
    const { positions, claim } = used();
    expect(claim(0, jobs([0, "t1", "a"], [0, "t2", "b"], [7, "t1", "c"]))).toBeNull();
    expect(claim(10, jobs([7, "t4", "d"]))).toEqual({
      0: { run_after: "t2", id: "b" },
      7: { run_after: "t1", id: "c" },
    });
    expect(positions.next(20)).toEqual({
      0: { run_after: "t2", id: "b" },
      7: { run_after: "t4", id: "d" },
    });
  });

  test("is forgotten once a second, for a look from the start", () => {
    const { positions, claim } = used();
    claim(0, jobs([0, "t1", "a"]));
    claim(999, jobs([0, "t2", "b"]));
    expect(positions.next(999)).not.toBeNull();
    expect(claim(1_000, jobs([0, "t1", "late"]))).toBeNull();
    expect(positions.next(1_001)).toEqual({ 0: { run_after: "t1", id: "late" } });
    expect(positions.next(2_000)).toBeNull();
  });

  test.each([
    [200, 4_000],
    [10_000, 5_000],
    [1, 1_000],
  ])("after a look of %d ms for %d ms", (ms, forMs) => {
    const { positions, claim } = used();
    claim(0, jobs([0, "t1", "a"]), { ms });
    expect(positions.next(forMs - 1)).not.toBeNull();
    expect(positions.next(forMs)).toBeNull();
  });

  test("means nothing where a claim found less than there were slots for", () => {
    const { positions, claim } = used();
    claim(0, jobs([0, "t1", "a"]));
    claim(10, jobs([0, "t2", "b"]), { slots: 2 });
    expect(positions.next(11)).toBeNull();
    claim(11, jobs([3, "t1", "c"]));
    expect(positions.next(12)).toEqual({ 3: { run_after: "t1", id: "c" } });
  });
});
