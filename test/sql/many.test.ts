import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const unknown = "00000000-0000-7000-8000-000000000000";

describe.each(backends)("run_now_many and remove_many on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, enqueue, put, running, count } = fixture;
  const delayed = (options: object = {}) => enqueue({ delay_ms: 60_000, ...options });
  const finished = async (options?: object): Promise<string> => {
    const id = await running(options);
    await call("complete", id, 1);
    return id;
  };

  test("run_now_many makes the queued jobs of a filter due", async () => {
    const mine = [await delayed({ owner: "ann" }), await delayed({ owner: "ann" })];
    await delayed();
    await running({ owner: "ann" });
    expect(await call("run_now_many", { owner: "ann" })).toEqual({ due: 2, skipped: [] });
    expect((await rows("claim", ["k"], 10)).map(({ id }) => id).sort()).toEqual(mine.sort());
  });

  test("run_now_many says why it passed over a job that was named", async () => {
    const [waiting, busy, done] = [await delayed(), await running(), await finished()];
    const { due, skipped } = await call("run_now_many", { ids: [waiting, busy, done, unknown] });
    expect(due).toBe(1);
    expect(skipped).toHaveLength(3);
    expect(skipped).toEqual(
      expect.arrayContaining([
        { id: busy, outcome: "wrong_status" },
        { id: done, outcome: "wrong_status" },
        { id: unknown, outcome: "unknown" },
      ]),
    );
  });

  test("remove_many deletes the finished jobs of a filter, with all that hangs on them", async () => {
    const id = await running();
    await call("step_save", id, 1, "a", "1");
    await call("fail", id, 1, {}, true);
    await finished();
    const others = [await enqueue(), await running()];
    await call("enqueue", "another", "{}", {});
    expect(await call("remove_many", { kind: "k" })).toEqual({ removed: 2, skipped: [] });
    expect(await count()).toBe(3);
    expect(await count("job_events")).toBe(0);
    expect(await count("steps")).toBe(0);
    expect(await call("remove_many", { ids: [...others, unknown] })).toEqual({
      removed: 0,
      skipped: expect.arrayContaining([
        { id: others[0], outcome: "wrong_status" },
        { id: others[1], outcome: "wrong_status" },
        { id: unknown, outcome: "unknown" },
      ]),
    });
  });

  test("remove_many keeps a job whose money is not settled", async () => {
    const id = await running({ external: true });
    await call("fail", id, 1, {}, true);
    expect(await call("remove_many", { kind: "k" })).toEqual({
      removed: 0,
      skipped: [{ id, outcome: "money_unsettled" }],
    });
  });

  test("at most as many as the limit, the newest first", async () => {
    const ids = await put({}, {});
    for (const id of ids) {
      await rows("claim_job", id);
      await call("complete", id, 1);
    }
    const [, old] = ids;
    expect(await call("remove_many", { limit: 1 })).toEqual({ removed: 1, skipped: [] });
    expect((await call("list")).jobs).toMatchObject([{ id: old }]);
  });

  test.each(["run_now_many", "remove_many"])("%s refuses what is no filter", async (name) => {
    await expect(call(name, { owner: null })).rejects.toMatchObject({ code: "LH002" });
    await expect(call(name, { unknown: 1 })).rejects.toMatchObject({ code: "LH003" });
    await expect(call(name, "[]")).rejects.toMatchObject({ code: "LH002" });
  });
});
