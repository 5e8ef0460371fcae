import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { type Row, useDatabase } from "./support/calls.ts";

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

describe.each(backends)("list on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, enqueue, put, running, changes, query, age, session } = fixture;
  const idsOf = async (filter: object) =>
    (await call("list", filter)).jobs.map(({ id }: Row) => id);

  test("shows what is short of a job", async () => {
    const id = await running({ key: "a", owner: "ann", priority: 2, start_within_ms: 60_000 });
    await call("fail", id, 1, { code: "X", message: "m" }, false, 60_000);
    expect(await call("list", { ids: [id] })).toEqual({
      jobs: [
        {
          ...{ id, kind: "k", key: "a", owner: "ann", status: "queued", priority: 2, attempts: 1 },
          ...{ max_attempts: 5, generation: 1, releases: 0, run: 1, worker: "w" },
          ...{ error_code: "X", error_message: "m", cancel_requested: false },
          ...{ money: null, cost: null, account: null, external: false },
          run_after: expect.stringMatching(iso),
          start_by: expect.stringMatching(iso),
          lease_until: null,
          timeout_at: null,
          created_at: expect.stringMatching(iso),
          started_at: expect.stringMatching(iso),
          claimed_at: expect.stringMatching(iso),
          finished_at: null,
        },
      ],
      next: null,
    });
  });

  test("shows the newest first, fifty unless it is told otherwise", async () => {
    expect(await call("list")).toEqual({ jobs: [], next: null });
    const ids = await put(...Array(60).fill({}));
    const page = await call("list");
    expect(page.jobs.map(({ id }: Row) => id)).toEqual(ids.slice(0, 50));
    expect(page.next).toBe(ids[49]);
    expect(await idsOf({ limit: 60 })).toEqual(ids);
    expect((await call("list", { limit: 60 })).next).toBeNull();
    expect((await call("list", { limit: 59 })).next).toBe(ids[58]);
  });

  test("pages neither skip nor repeat, whatever comes in between", async () => {
    const ids = await put(...Array(23).fill({}));
    const seen: string[] = [];
    let after: string | null = null;
    do {
      const page: { jobs: Row[]; next: string | null } = await call("list", { limit: 5, after });
      seen.push(...page.jobs.map(({ id }) => id));
      after = page.next;
      await enqueue();
    } while (after !== null);
    expect(seen.filter((id) => ids.includes(id))).toEqual(ids);
    expect(new Set(seen).size).toBe(seen.length);
  });

  test("a page that ends with the last job is the last one", async () => {
    const ids = await put(...Array(10).fill({}));
    const first = await call("list", { limit: 5 });
    expect(first.next).toBe(ids[4]);
    const second = await call("list", { limit: 5, after: first.next });
    expect(second.jobs.map(({ id }: Row) => id)).toEqual(ids.slice(5));
    expect(second.next).toBeNull();
    expect(await call("list", { after: ids[9] })).toEqual({ jobs: [], next: null });
  });

  test("shows what the filter names, each alone and all together", async () => {
    const [c, b, a] = (await put(
      { key: "a", owner: "ann" },
      { key: "b", owner: "ann", kind: "other" },
      { key: "c", owner: "bob" },
    )) as [string, string, string];
    await call("claim_job", a);
    await call("fail", a, 1, { code: "X" }, true);
    await call("claim_job", b);
    expect(await idsOf({ ids: [a, c] })).toEqual([c, a]);
    expect(await idsOf({ ids: [] })).toEqual([]);
    expect(await idsOf({ ids: ["00000000-0000-7000-8000-000000000000"] })).toEqual([]);
    expect(await idsOf({ kind: "k" })).toEqual([c, a]);
    expect(await idsOf({ key: "b" })).toEqual([b]);
    expect(await idsOf({ owner: "ann" })).toEqual([b, a]);
    expect(await idsOf({ status: "failed" })).toEqual([a]);
    expect(await idsOf({ status: ["failed", "queued"] })).toEqual([c, a]);
    expect(await idsOf({ error_code: "X" })).toEqual([a]);
    expect(await idsOf({ after: b })).toEqual([a]);
    const all = { kind: "k", key: "a", owner: "ann", status: ["failed"], error_code: "X" };
    expect(await idsOf({ ...all, ids: [a, b, c], after: c, limit: 1 })).toEqual([a]);
    expect(await idsOf({ ...all, owner: "bob" })).toEqual([]);
  });

  test("null in a filter names nothing", async () => {
    const ids = await put({}, {});
    const filter = { kind: null, key: null, owner: null, status: null, error_code: null };
    expect(await idsOf({ ...filter, after: null })).toEqual(ids);
  });

  test("what is in a filter is text, not SQL", async () => {
    const text = "' or true --";
    const [id] = await put({ key: text, owner: '"$1\\' });
    await put({});
    expect(await idsOf({ key: text })).toEqual([id]);
    expect(await idsOf({ owner: '"$1\\' })).toEqual([id]);
    expect(await idsOf({ kind: text })).toEqual([]);
  });

  test("finds the library's own jobs", async () => {
    await query(
      "insert into leasehold.jobs (id, kind) values (gen_random_uuid(), 'leasehold.reconcile')",
    );
    expect(await idsOf({ kind: "leasehold.reconcile" })).toHaveLength(1);
  });

  test("reads only: it reaps nothing, and runs in a read-only transaction", async () => {
    const id = await running({ max_attempts: 1 }, 1000);
    await age(id, 2000);
    const { changed } = await changes(id, () =>
      session(async (own) => {
        await own.query("begin read only");
        expect((await own.call("list", {})).jobs).toMatchObject([{ id, status: "running" }]);
        await own.query("commit");
      }),
    );
    expect(changed).toEqual({});
  });

  test.each([
    ["[]", "LH002", "p_filter is []"],
    ['"ids"', "LH002", /./],
    [null, "LH002", "p_filter is null"],
    ['{"state": "failed"}', "LH003", "option state is not known"],
    ['{"ids": "abc"}', "LH002", 'ids is "abc"'],
    ['{"ids": null}', "LH002", "ids is null"],
    ['{"ids": ["abc"]}', "LH002", 'ids is ["abc"]'],
    ['{"ids": [5]}', "LH002", "ids is [5]"],
    ['{"kind": 5}', "LH002", "kind is 5"],
    ['{"kind": ""}', "LH002", "kind is ''"],
    ['{"key": " "}', "LH002", "key is ' '"],
    ['{"owner": ""}', "LH002", "owner is ''"],
    ['{"owner": ["ann"]}', "LH002", 'owner is ["ann"]'],
    ['{"status": "open"}', "LH002", 'status is "open"'],
    ['{"status": []}', "LH002", "status is []"],
    ['{"status": ["failed", "open"]}', "LH002", 'status is ["failed", "open"]'],
    ['{"status": [null]}', "LH002", "status is [null]"],
    ['{"status": {"a": 1}}', "LH002", 'status is {"a": 1}'],
    ['{"error_code": 1}', "LH002", "error_code is 1"],
    ['{"limit": 0}', "LH002", "limit is 0"],
    ['{"limit": 10001}', "LH002", "limit is 10001"],
    ['{"limit": 1.5}', "LH002", "limit is 1.5"],
    ['{"limit": null}', "LH002", "limit is null"],
    ['{"after": "abc"}', "LH002", 'after is ["abc"]'],
  ])("refuses %s", async (filter, code, message) => {
    await expect(call("list", filter)).rejects.toMatchObject({
      code,
      message: typeof message === "string" ? message : expect.stringMatching(message),
      hint: expect.any(String),
    });
  });
});
