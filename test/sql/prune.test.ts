import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const hourMs = 3_600_000;

describe.each(backends)("prune on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, query, enqueue, running, age, count, events } = fixture;
  const left = async () =>
    (await query("select id from leasehold.jobs")).map(({ id }) => id).sort();

  /** A finished job of this kind and status, so many milliseconds ago. */
  async function finished(agoMs: number, status = "completed", kind = "k"): Promise<string> {
    const id = (await call("enqueue", kind)).id;
    await call("claim_job", id);
    if (status === "completed") await call("complete", id, 1);
    if (status === "failed") await call("fail", id, 1, {}, true);
    if (status === "cancelled") {
      await call("cancel", id);
      await call("release", id, 1);
    }
    await age(id, agoMs);
    return id;
  }

  test("deletes finished jobs older than asked, with their events", async () => {
    const old = [];
    for (const status of ["completed", "failed", "cancelled"]) {
      old.push(await finished(2 * hourMs, status));
    }
    const young = await finished(hourMs - 60_000, "failed");
    expect(await call("prune", { older_than_ms: hourMs })).toEqual({ deleted: 3 });
    expect(await left()).toEqual([young]);
    for (const id of old) expect(await events(id)).toEqual([]);
    expect(await events(young)).toHaveLength(1);
    expect(await call("prune", { older_than_ms: hourMs })).toEqual({ deleted: 0 });
    expect(await call("prune", { older_than_ms: 0 })).toEqual({ deleted: 1 });
  });

  test("never deletes an unfinished job, however old", async () => {
    const ids = [await enqueue(), await running({}, 1000), await running()];
    await call("fail", ids[2] as string, 1, {}, false, 0);
    for (const id of ids) await age(id, 1000 * hourMs);
    expect(await call("prune", { older_than_ms: 0 })).toEqual({ deleted: 0 });
    expect(await left()).toEqual([...ids].sort());
  });

  test("keeps what was retried, until it ends again", async () => {
    const id = await finished(5 * hourMs, "failed");
    await call("retry", id);
    expect(await call("prune", { older_than_ms: 0 })).toEqual({ deleted: 0 });
    await call("cancel", id);
    expect(await call("prune", { older_than_ms: hourMs })).toEqual({ deleted: 0 });
  });

  test("without an age, each kind's retain_ms counts; a kind without one keeps its jobs", async () => {
    await call("define_kind", "short", { retain_ms: hourMs });
    await call("define_kind", "long", { retain_ms: 10 * hourMs });
    await call("define_kind", "none", { lease_ms: 1 });
    const jobs: string[] = [];
    for (const kind of ["short", "long", "none", "undefined"]) {
      jobs.push(await finished(2 * hourMs, "completed", kind));
    }
    const youngShort = await finished(0, "completed", "short");
    expect(await call("prune")).toEqual({ deleted: 1 });
    expect(await left()).toEqual([...jobs.slice(1), youngShort].sort());
    await call("define_kind", "long", { retain_ms: null });
    await age(jobs[1] as string, 100 * hourMs);
    expect(await call("prune", {})).toEqual({ deleted: 0 });
  });

  test("an age that is given counts instead of retain_ms", async () => {
    await call("define_kind", "k", { retain_ms: 1 });
    const id = await finished(hourMs);
    expect(await call("prune", { older_than_ms: 2 * hourMs })).toEqual({ deleted: 0 });
    expect(await left()).toEqual([id]);
  });

  test("takes only the kinds and statuses that it is told", async () => {
    const a = await finished(hourMs, "completed", "a");
    const b = await finished(hourMs, "failed", "a");
    const c = await finished(hourMs, "cancelled", "b");
    const all = { older_than_ms: 0 };
    expect(await call("prune", { ...all, kinds: ["none"] })).toEqual({ deleted: 0 });
    expect(await call("prune", { ...all, kinds: ["a", "none"], statuses: ["failed"] })).toEqual({
      deleted: 1,
    });
    expect(await left()).toEqual([a, c].sort());
    expect(await call("prune", { ...all, statuses: "cancelled" })).toEqual({ deleted: 1 });
    expect(await left()).toEqual([a]);
    expect(b).not.toBe(a);
  });

  test("deletes no more than its limit, the oldest of a kind first", async () => {
    const ids = [];
    for (const hours of [3, 1, 5, 2, 4]) ids.push(await finished(hours * hourMs));
    expect(await call("prune", { older_than_ms: 0, limit: 2 })).toEqual({ deleted: 2 });
    expect(await left()).toEqual([ids[0], ids[1], ids[3]].sort());
    await finished(hourMs, "failed", "other");
    expect(await call("prune", { older_than_ms: 0, limit: 3 })).toEqual({ deleted: 3 });
    expect(await count()).toBe(1);
  });

  test("deletes names under once whose time is over, and no other", async () => {
    await enqueue({ once: "old", once_for_ms: hourMs });
    await enqueue({ once: "in force", once_for_ms: 5 * hourMs });
    await ageAll(fixture.db, "once", 2 * hourMs);
    expect(await call("prune")).toEqual({ deleted: 0 });
    expect(await query("select once from leasehold.once")).toEqual([{ once: "in force" }]);
    expect(await count()).toBe(2);
  });

  test("a name in force outlives its job", async () => {
    const id = await enqueue({ once: "o" });
    await call("cancel", id);
    expect(await call("prune", { older_than_ms: 0 })).toEqual({ deleted: 1 });
    expect(await call("enqueue", "k", "{}", { once: "o" })).toEqual({
      ...{ outcome: "duplicate", id, status: null },
    });
  });

  test("prunes the library's own jobs as well", async () => {
    await finished(hourMs);
    await query("update leasehold.jobs set kind = 'leasehold.reconcile'");
    expect(await call("prune", { older_than_ms: 0 })).toEqual({ deleted: 1 });
  });

  test.each([
    ["[]", "LH002", "p_options is []"],
    [null, "LH002", "p_options is null"],
    ['{"older_than": 5}', "LH003", "option older_than is not known"],
    ['{"older_than_ms": -1}', "LH002", "older_than_ms is -1"],
    ['{"older_than_ms": null}', "LH002", "older_than_ms is null"],
    ['{"older_than_ms": "1 day"}', "LH002", 'older_than_ms is "1 day"'],
    ['{"kinds": []}', "LH002", /^p?_?kinds is/],
    ['{"kinds": "k"}', "LH002", 'kinds is "k"'],
    ['{"kinds": [null]}', "LH002", /^p?_?kinds is/],
    ['{"statuses": ["queued"]}', "LH002", 'statuses is ["queued"]'],
    ['{"statuses": "running"}', "LH002", 'statuses is "running"'],
    ['{"statuses": []}', "LH002", "statuses is []"],
    ['{"statuses": null}', "LH002", "statuses is null"],
    ['{"limit": 0}', "LH002", "limit is 0"],
  ])("refuses %s and deletes nothing", async (options, code, message) => {
    await call("define_kind", "k", { retain_ms: 1 });
    await finished(hourMs);
    await expect(call("prune", options)).rejects.toMatchObject({
      code,
      message: typeof message === "string" ? message : expect.stringMatching(message),
    });
    expect(await count()).toBe(1);
  });
});
