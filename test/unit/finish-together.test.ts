import { describe, expect, test } from "vitest";
import type { Arguments } from "../../src/database.ts";
import { finishTogether } from "../../src/finish-together.ts";
import type { OutcomeArguments } from "../../src/record.ts";

const complete = (id: string, result: unknown = null, generation = 1): OutcomeArguments => ({
  id,
  generation,
  action: "complete",
  result,
});

/** What `finish_many` would answer: all done, or an error for outcomes with this result. */
function database(
  errors: Record<string, string> = {},
  around: (go: () => Promise<void>) => Promise<void> = (go) => go(),
) {
  const batches: OutcomeArguments[][] = [];
  const call = async (_: string, args: Arguments): Promise<unknown> => {
    const outcomes = args.p_outcomes as OutcomeArguments[];
    batches.push(outcomes);
    await around(() => new Promise((resolve) => setTimeout(resolve, 1)));
    for (const { result } of outcomes) {
      const code = errors[String(result)];
      if (code !== undefined) throw Object.assign(new Error(String(result)), { code });
    }
    return { done: outcomes.map(({ id }) => ({ id, status: "completed" })), refused: [], busy: [] };
  };
  return { batches, call, finish: finishTogether(call) };
}

const sizes = (batches: OutcomeArguments[][]) => batches.map((batch) => batch.length);

describe("outcomes that are sent together", () => {
  test("of one turn share a call, and those that come meanwhile the next", async () => {
    const { batches, finish } = database();
    const first = Promise.all(["a", "b", "c"].map((id) => finish(complete(id))));
    await new Promise((resolve) => setImmediate(resolve));
    const second = Promise.all(["d", "e"].map((id) => finish(complete(id))));
    expect(await first).toEqual(["completed", "completed", "completed"]);
    expect(await second).toEqual(["completed", "completed"]);
    expect(sizes(batches)).toEqual([3, 2]);
    await finish(complete("f"));
    expect(sizes(batches)).toEqual([3, 2, 1]);
  });

  test("are 500 in a call at the most, and fewer where they are large", async () => {
    const { batches, finish } = database();
    await Promise.all(Array.from({ length: 1_200 }, (_, i) => finish(complete(String(i)))));
    expect(sizes(batches)).toEqual([500, 500, 200]);
    batches.length = 0;
    const large = { text: "x".repeat(900_000) };
    const text = "x".repeat(900_000);
    await Promise.all(Array.from({ length: 20 }, (_, i) => finish(complete(`o${i}`, large))));
    await Promise.all(Array.from({ length: 20 }, (_, i) => finish(complete(`t${i}`, text))));
    expect(Math.max(...sizes(batches))).toBeLessThanOrEqual(8);
  });

  test("go in two calls where a job is among them twice", async () => {
    const { batches, finish } = database();
    await Promise.all([finish(complete("a")), finish(complete("b")), finish(complete("a", 0, 2))]);
    expect(batches.map((batch) => batch.map(({ id, generation }) => id + generation))).toEqual([
      ["a1", "b1"],
      ["a2"],
    ]);
  });

  test.each(["22P05", "LH002", "P0001", "23514", "54001"])(
    "go one by one where the database refuses one of them with %s",
    async (code) => {
      const { batches, finish } = database({ odd: code });
      const results = ["fine", "odd", "well"];
      const ends = await Promise.allSettled(results.map((r, i) => finish(complete(String(i), r))));
      expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect(ends[1]).toMatchObject({ reason: { code } });
      expect(sizes(batches)).toEqual([3, 1, 1, 1]);
    },
  );

  test.each(["ECONNRESET", "EPIPE", "57P01", "08006", "53300", "25006", "40001"])(
    "fail together where the database is away, as by %s, and the next are sent",
    async (code) => {
      const { batches, finish } = database({ odd: code });
      const ends = await Promise.allSettled([finish(complete("a")), finish(complete("b", "odd"))]);
      expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
      expect(await finish(complete("c"))).toBe("completed");
      expect(sizes(batches)).toEqual([2, 1]);
    },
  );

  test("go by twos where many wait, and singly where few do", async () => {
    let most = 0;
    let underWay = 0;
    const { batches, finish } = database({}, async (go) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await go();
      underWay -= 1;
    });
    await Promise.all(Array.from({ length: 199 }, (_, i) => finish(complete(String(i)))));
    expect([most, sizes(batches)]).toEqual([1, [199]]);
    await Promise.all(Array.from({ length: 1_700 }, (_, i) => finish(complete(String(i)))));
    expect([most, sizes(batches)]).toEqual([2, [199, 500, 500, 500, 200]]);
  });
});

describe("outcomes that are sent beside a claim", () => {
  /** One that carries the first of them, and what it saw. */
  function carried(error?: { code: string }) {
    const seen: [freed: number, ids: string[]][] = [];
    const rest = database();
    const finish = finishTogether(rest.call, (freed) => {
      if (seen.length > 0) return undefined;
      return async (outcomes) => {
        seen.push([freed, outcomes.map(({ id }) => id)]);
        if (error) throw Object.assign(new Error("no"), error);
        return ({ id }) => (id === "b" ? "busy" : "completed");
      };
    });
    const ends = Promise.allSettled(["a", "b"].map((id) => finish(complete(id))));
    return { seen, batches: rest.batches, ends };
  }
  const values = (ends: PromiseSettledResult<string>[]) =>
    ends.map((end) => (end.status === "fulfilled" ? end.value : "rejected"));

  test("are told what became of each, and of no other call", async () => {
    const { seen, batches, ends } = carried();
    expect(values(await ends)).toEqual(["completed", "busy"]);
    expect([seen, batches]).toEqual([[[2, ["a", "b"]]], []]);
  });

  test("go again by themselves where the call is refused, as the claim may be", async () => {
    const { seen, batches, ends } = carried({ code: "P0001" });
    expect(values(await ends)).toEqual(["completed", "completed"]);
    expect([seen.length, sizes(batches)]).toEqual([1, [2]]);
  });

  test("fail together where the database is away", async () => {
    const { batches, ends } = carried({ code: "ECONNRESET" });
    expect(values(await ends)).toEqual(["rejected", "rejected"]);
    expect(batches).toEqual([]);
  });
});
