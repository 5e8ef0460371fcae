import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

describe.each(backends)("counts on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, put } = fixture;

  /** One job of each status; the newest is queued, the next running. */
  async function oneOfEach(options: object): Promise<void> {
    const ids = await put(options, options, options, options, options);
    const [_, running, cancelled, completed, failed] = ids;
    for (const id of [running, completed, failed]) await rows("claim_job", id);
    await call("fail", failed, 1, { code: "E" }, true);
    await call("complete", completed, 1);
    await call("cancel", cancelled);
  }

  test("counts the jobs that a filter names, by status", async () => {
    const one = { queued: 1, running: 1, completed: 1, failed: 1, cancelled: 1 };
    const none = { queued: 0, running: 0, completed: 0, failed: 0, cancelled: 0 };
    await oneOfEach({ owner: "ann" });
    await oneOfEach({});
    await call("enqueue", "another", "{}", { key: "a" });
    const all = { queued: 3, running: 2, completed: 2, failed: 2, cancelled: 2 };
    expect(await call("counts")).toEqual({ counts: all, looked_at: 11, complete: true });
    const counts = async (filter: object) => (await call("counts", filter)).counts;
    expect(await counts({ owner: "ann" })).toEqual(one);
    expect(await counts({ kind: "another" })).toEqual({ ...none, queued: 1 });
    expect(await counts({ key: "a" })).toEqual({ ...none, queued: 1 });
    expect(await counts({ error_code: "E" })).toEqual({ ...none, failed: 2 });
    expect(await counts({ owner: "nobody" })).toEqual(none);
    expect(await counts({ owner: null, kind: null })).toEqual(all);
  });

  test("looks at the newest so many, and by themselves at the failed ones", async () => {
    await oneOfEach({});
    const { counts, ...looked } = await call("counts", { look_at: 2 });
    expect(counts).toEqual({ queued: 1, running: 1, completed: 0, failed: 1, cancelled: 0 });
    expect(looked).toEqual({ looked_at: 2, complete: false });
    expect(await call("counts", { look_at: 5 })).toMatchObject({ complete: false });
    expect(await call("counts", { look_at: 6 })).toMatchObject({ complete: true });
  });

  test.each([
    [{ look_at: 0 }, "LH002"],
    [{ look_at: 1_000_001 }, "LH002"],
    [{ kind: 1 }, "LH002"],
    [{ status: "failed" }, "LH003"],
    ["[]", "LH002"],
  ])("refuses %j", async (filter, code) => {
    await expect(call("counts", filter)).rejects.toMatchObject({ code });
  });
});

describe.each(backends)("a list that looks at so many on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, put } = fixture;
  const list = async (filter: object) => {
    const { jobs, next } = await call("list", filter);
    return { ids: jobs.map(({ id }: { id: string }) => id), next };
  };

  test("ends the page where it has looked at them, and goes on from there", async () => {
    const [ann, bob] = [{ owner: "ann" }, { owner: "bob" }];
    const [newest, ...older] = await put(ann, ann, bob, bob, bob, bob, ann);
    const [others, rare] = [older.slice(0, 4).reverse(), older.slice(4).reverse()];
    const filter = { owner: "ann", look_at: 3 };
    const first = await list(filter);
    expect(first).toEqual({ ids: [newest], next: others[2] });
    const second = await list({ ...filter, after: first.next });
    expect(second).toEqual({ ids: [rare[1]], next: rare[1] });
    expect(await list({ ...filter, after: second.next })).toEqual({ ids: [rare[0]], next: null });
  });

  test("is a page like any other where it finds enough", async () => {
    const ids = await put({}, {}, {}, {}, {});
    const filter = { limit: 2, look_at: 4 };
    expect(await list(filter)).toEqual({ ids: ids.slice(0, 2), next: ids[1] });
    expect(await list({ ...filter, after: ids[1] })).toEqual({
      ids: ids.slice(2, 4),
      next: ids[3],
    });
    expect(await list({ ...filter, after: ids[3] })).toEqual({ ids: ids.slice(4), next: null });
    expect(await list({ limit: 3, look_at: 2 })).toEqual({ ids: ids.slice(0, 2), next: ids[1] });
  });

  test("looks at failed jobs alone where only those are asked for", async () => {
    const [, , , failed] = await put({}, {}, {}, {});
    await rows("claim_job", failed);
    await call("fail", failed, 1, {}, true);
    const one = { ids: [failed], next: null };
    expect(await list({ status: "failed", look_at: 2 })).toEqual(one);
    expect(await list({ status: ["failed"], look_at: 2 })).toEqual(one);
    expect((await list({ status: ["failed", "cancelled"], look_at: 2 })).ids).toEqual([]);
  });

  test("refuses what is no number, and is no filter of a bulk operation", async () => {
    for (const look_at of [0, 1_000_001, "1", null]) {
      await expect(call("list", { look_at })).rejects.toMatchObject({ code: "LH002" });
    }
    for (const name of ["retry_many", "cancel_many", "run_now_many", "remove_many"]) {
      await expect(call(name, { look_at: 1 })).rejects.toMatchObject({ code: "LH003" });
    }
  });
});
