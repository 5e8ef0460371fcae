import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, type Row, useDatabase } from "./support/calls.ts";

const at = (second: number): string => new Date(Date.UTC(2020, 0, 1, 0, 0, second)).toISOString();

describe.each(backends)("the order of claim on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running } = fixture;

  /** Jobs given as [payload, kind, priority, second of run_after]; answers their ids by payload. */
  const put = async (
    ...jobs: [string, string, number, number][]
  ): Promise<Record<string, string>> => {
    const batch = jobs.map(([payload, kind, priority, second]) => ({
      ...{ kind, payload, priority, run_after: at(second) },
    }));
    const answers: Row[] = await call("enqueue_many", json(batch));
    return Object.fromEntries(jobs.map(([payload], i) => [payload, answers[i]?.id]));
  };
  const names = async (kinds: string[], limit: number, after: object | null = null) => {
    const claimed = await rows("claim", kinds, limit, null, null, null, null, after);
    return claimed.map(({ payload }) => payload).join(" ");
  };

  test("priority goes first, then run_after, then id, across kinds", async () => {
    await put(
      ["f", "a", 1, 0],
      ["d", "b", 0, 2],
      ["b", "c", 0, 1],
      ["a", "a", -1, 9],
      ["e", "a", 0, 2],
      ["c", "a", 0, 1],
    );
    expect(await names(["c", "b", "a"], 10)).toBe("a b c d e f");
  });

  test("and so do several calls, whatever their limit", async () => {
    await put(
      ["a", "a", 0, 1],
      ["b", "b", 0, 2],
      ["c", "a", 0, 3],
      ["d", "b", 0, 4],
      ["e", "c", 1, 0],
    );
    expect(await names(["a", "b", "c"], 1)).toBe("a");
    expect(await names(["a", "b", "c"], 2)).toBe("b c");
    expect(await names(["a", "b", "c"], 2)).toBe("d e");
  });

  test("the extreme priorities are priorities", async () => {
    await put(["c", "a", 32767, 0], ["b", "a", 0, 0], ["a", "a", -32768, 0]);
    expect(await names(["a"], 10)).toBe("a b c");
    await put(["c", "a", 32767, 0], ["b", "b", 0, 0], ["a", "b", -32768, 0]);
    expect(await names(["a", "b"], 10)).toBe("a b c");
  });

  test("delayed jobs of a better priority hold up nobody", async () => {
    const batch = Array.from({ length: 300 }, (_, i) => ({
      ...{ kind: i % 2 ? "a" : "b", priority: -1 - (i % 3), delay_ms: 60_000 },
    }));
    await call("enqueue_many", json(batch));
    await put(["a", "a", 0, 1], ["b", "b", 0, 2]);
    expect(await names(["a", "b"], 10)).toBe("a b");
  });

  test("a kind with nothing due hides nothing of the other", async () => {
    await put(["a", "a", 0, 1], ["b", "a", 0, 2]);
    await call("enqueue", "b", "{}", { delay_ms: 60_000 });
    expect(await names(["a", "b", "c"], 10)).toBe("a b");
  });

  test("what failed or was reaped keeps its place by run_after", async () => {
    const ids = await put(["a", "a", 0, 1], ["b", "a", 0, 2]);
    expect(await names(["a"], 1)).toBe("a");
    await fixture.age(ids.a as string, 3_600_000);
    expect(await names(["a"], 2)).toBe("a b");
  });

  test("more jobs of one run_after than a page are handed out by id", async () => {
    const jobs = Array.from({ length: 60 }, (_, i) => ({
      ...{ kind: ["a", "b", "c"][i % 3] as string, payload: i, run_after: at(1) },
    }));
    await call("enqueue_many", json(jobs));
    const claimed = [];
    for (let i = 0; i < 6; i++) claimed.push(...(await rows("claim", ["a", "b", "c"], 10)));
    expect(claimed.map(({ payload }) => payload)).toEqual(jobs.map(({ payload }) => payload));
  });

  describe("p_after", () => {
    const zero = "00000000-0000-0000-0000-000000000000";

    test("is a lower bound in its priority, itself included, and in no other", async () => {
      const ids = await put(
        ["a", "a", 0, 1],
        ["b", "a", 0, 2],
        ["c", "a", 0, 2],
        ["d", "a", 1, 1],
        ["e", "b", 0, 3],
      );
      const after = { 0: { run_after: at(2), id: ids.c } };
      expect(await names(["a"], 1, after)).toBe("c");
      expect(await names(["a", "b"], 10, after)).toBe("e d");
      expect(await names(["a", "b"], 10)).toBe("a b");
    });

    test("works per priority, over one kind and over several", async () => {
      for (const kinds of [["a"], ["a", "b"]]) {
        await put(["a", "a", -5, 1], ["b", "a", -5, 2], ["c", "a", 7, 1], ["d", "a", 7, 2]);
        const after = {
          "-5": { run_after: at(2), id: zero },
          7: { run_after: at(2), id: zero },
        };
        expect(await names(kinds, 10, after)).toBe("b d");
        expect(await names(kinds, 10)).toBe("a c");
      }
    });

    test("beyond every job hides only its own priority", async () => {
      await put(["a", "a", 0, 1], ["b", "a", 1, 1]);
      const after = { 0: { run_after: "2100-01-01T00:00:00Z", id: zero } };
      expect(await names(["a"], 10, after)).toBe("b");
      expect(await names(["a"], 10, {})).toBe("a");
    });

    test("may name priorities that nobody uses", async () => {
      await put(["a", "a", 0, 1], ["b", "a", 9, 1]);
      const position = { run_after: at(0), id: zero };
      const after = { "-99999": position, "-3": position, 4: position, 99999: position };
      expect(await names(["a"], 10, after)).toBe("a b");
    });

    test("takes the run_after and id of the last claim as they come", async () => {
      await put(["a", "a", 0, 1], ["b", "a", 0, 2], ["c", "a", 0, 2]);
      const [last] = await rows("claim", ["a"], 2).then((claimed) => claimed.slice(-1));
      const after = { 0: { run_after: last?.run_after, id: last?.id } };
      expect(await names(["a"], 10, after)).toBe("c");
    });

    test.each([
      "[]",
      '{"0": 5}',
      '{"x": {"run_after": "2020-01-01T00:00:00Z", "id": "00000000-0000-0000-0000-000000000000"}}',
      '{"0": {"run_after": "2020-01-01T00:00:00Z"}}',
      '{"0": {"id": "00000000-0000-0000-0000-000000000000"}}',
      '{"0": {"run_after": "2020-01-01T00:00:00Z", "id": null}}',
      '{"0": {"run_after": "2020-01-01T00:00:00Z", "id": "abc"}}',
      '{"0": {"run_after": "soon", "id": "00000000-0000-0000-0000-000000000000"}}',
      '{"0": {"run_after": "2020-01-01T00:00:00Z", "id": "00000000-0000-0000-0000-000000000000", "x": 1}}',
      '{"1.5": {"run_after": "2020-01-01T00:00:00Z", "id": "00000000-0000-0000-0000-000000000000"}}',
    ])("of another shape is refused: %s", async (after) => {
      await enqueue();
      await expect(rows("claim", ["k"], 1, null, null, null, null, after)).rejects.toMatchObject({
        code: "LH002",
        message: expect.stringMatching(/^p_after/),
      });
    });
  });

  test("running jobs and finished ones are nobody's next", async () => {
    await running();
    const [done, cancelled] = [await running(), await enqueue()];
    await call("complete", done, 1);
    await call("cancel", cancelled);
    expect(await rows("claim", ["k"], 10)).toEqual([]);
    expect(await query("select from leasehold.jobs where generation > 1")).toEqual([]);
  });
});
