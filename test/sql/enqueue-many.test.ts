import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, type Row, useDatabase } from "./support/calls.ts";

describe.each(backends)("enqueue_many on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running, job, changes, count, session, span } = fixture;
  const many = (...jobs: object[]) => call("enqueue_many", json(jobs));
  const created = { outcome: "created", id: expect.any(String), status: "queued" };
  const conflict = (id: string | null, status = "queued") => ({
    outcome: "conflict",
    id: null,
    status: null,
    holder: { id, status },
  });
  const payloads = (answers: Row[]) =>
    Promise.all(answers.map(async ({ id }) => (await job(id)).payload));

  test("answers in the order of its input", async () => {
    const answers = await many(
      { kind: "k", payload: 0 },
      { kind: "b", payload: 1, key: "z" },
      { kind: "a", payload: 2, key: "y" },
      { kind: "k", payload: 3, once: "o" },
      { kind: "a", payload: 4 },
      { kind: "a", payload: 5, key: "x" },
    );
    expect(answers).toEqual(Array(6).fill(created));
    expect(await payloads(answers)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(answers.map(({ id }: Row) => id)).toEqual(answers.map(({ id }: Row) => id).sort());
  });

  test("answers briefly with ids, and with more where a job is not created", async () => {
    const brief = (...jobs: object[]) => call("enqueue_many", json(jobs), true);
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(await brief({ kind: "k" }, { kind: "k", owner: "ann" })).toEqual([id, id]);
    const held = await enqueue({ key: "held" });
    expect(await brief({ kind: "k", key: "free" }, { kind: "k", key: "held" })).toEqual([
      id,
      conflict(held),
    ]);
    await call("grant_credits", "ann", 1, "r");
    const costly = { kind: "k", cost: 1, account: "ann" };
    const insufficient = { outcome: "insufficient", id: null, status: null };
    expect(await brief(costly, costly)).toEqual([id, insufficient]);
    const replace = { kind: "k", key: "held", on_conflict: "replace" };
    expect(await brief(replace, { kind: "k" })).toMatchObject([
      { outcome: "replaced", id: held },
      id,
    ]);
    expect(await brief()).toEqual([]);
    expect(await call("enqueue_many", json([{ kind: "k" }]), null)).toEqual([created]);
  });

  test("stores what enqueue would store", async () => {
    const options = {
      key: "a",
      owner: "ann",
      priority: 3,
      delay_ms: 5000,
      start_within_ms: 1000,
      max_attempts: 2,
    };
    await call("define_kind", "d", { max_attempts: 7, start_within_ms: 10 });
    const [first, second, third] = await many(
      { kind: "k", payload: { v: 1 }, ...options },
      { kind: "d" },
      { kind: "k", payload: null, run_after: "2030-01-01T00:00:00Z" },
    );
    const single = await job((await call("enqueue", "other", '{"v": 1}', options)).id);
    const timeless = {
      id: expect.any(String),
      kind: "k",
      created_at: expect.any(Date),
      run_after: expect.any(Date),
      start_by: expect.any(Date),
    };
    expect(await job(first.id)).toEqual({ ...single, ...timeless });
    expect(await span(first.id, "run_after - created_at")).toBe(5000);
    expect(await job(second.id)).toMatchObject({ max_attempts: 7, payload: {} });
    expect(await span(second.id, "start_by - created_at")).toBe(10);
    expect(await job(third.id)).toMatchObject({
      payload: null,
      run_after: new Date("2030-01-01T00:00:00Z"),
    });
  });

  test("S15: a key twice in one batch is created once, and spoils nothing else", async () => {
    const holder = await enqueue({ key: "2" });
    const [a, b, c, d, e] = await many(
      { kind: "k", key: "1" },
      { kind: "k", key: "2" },
      { kind: "k", key: "3" },
      { kind: "k", key: "3" },
      { kind: "k" },
    );
    expect([a, b, c, d, e]).toEqual([created, conflict(holder), created, conflict(c.id), created]);
    expect(await count()).toBe(4);
  });

  test("a name under once twice in one batch is a duplicate of the first", async () => {
    const [a, b, c, d] = await many(
      { kind: "k", once: "o", key: "z", payload: 0 },
      { kind: "k", once: "o", key: "z", payload: 1 },
      { kind: "k", once: "o", key: "z", payload: 2 },
      { kind: "k", once: "o", owner: "ann", payload: 3 },
    );
    expect(a).toEqual(created);
    expect([b, c]).toEqual(Array(2).fill({ outcome: "duplicate", id: a.id, status: "queued" }));
    expect(d).toEqual(created);
    expect(await payloads([a, d])).toEqual([0, 3]);
    expect(await count("once")).toBe(2);
  });

  test("a name under once given to different keys goes to the first of the keys", async () => {
    const [z, a] = await many(
      { kind: "k", once: "o", key: "z" },
      { kind: "k", once: "o", key: "a" },
    );
    expect(a).toEqual(created);
    expect(z).toEqual({ outcome: "duplicate", id: a.id, status: "queued" });
  });

  test("a name whose first job met a conflict goes to the next one", async () => {
    const holder = await enqueue({ key: "a" });
    const [a, b, c] = await many(
      { kind: "k", once: "o", key: "a" },
      { kind: "k", once: "o", key: "b" },
      { kind: "k", once: "p", key: "a" },
    );
    expect([a, b, c]).toEqual([conflict(holder), created, conflict(holder)]);
    expect(await query("select once, job_id from leasehold.once")).toEqual([
      { once: "o", job_id: b.id },
    ]);
  });

  test("takes every outcome at once", async () => {
    const first = await enqueue({ once: "o" });
    const queued = await enqueue({ key: "queued" });
    const busy = await running({ key: "busy" });
    const foreign = await enqueue({ key: "foreign", owner: "ann" });
    const orphan = await running({ key: "orphan", max_attempts: 1 }, 1000);
    await fixture.age(orphan, 2000);
    const answers = await many(
      { kind: "k", key: "orphan", payload: 0 },
      { kind: "k", once: "o" },
      { kind: "k", key: "queued", on_conflict: "replace", payload: 2 },
      { kind: "k", key: "busy", on_conflict: "rerun", payload: 3 },
      { kind: "k", key: "busy" },
      { kind: "k", key: "foreign", on_conflict: "rerun" },
      { kind: "k", payload: 6 },
    );
    expect(answers).toEqual([
      created,
      { outcome: "duplicate", id: first, status: "queued" },
      { outcome: "replaced", id: queued, status: "queued" },
      { outcome: "rerun", id: busy, status: "running" },
      conflict(busy, "running"),
      conflict(null),
      created,
    ]);
    expect(await job(orphan)).toMatchObject({ status: "failed" });
    expect(await job(busy)).toMatchObject({ rerun: 3 });
    expect(await payloads([answers[0], answers[2], answers[6]])).toEqual([0, 2, 6]);
    expect(await job(foreign)).toMatchObject({ payload: {} });
  });

  test("a replace after a create in the same batch replaces that one", async () => {
    const [a, b] = await many(
      { kind: "k", key: "a", payload: 0 },
      { kind: "k", key: "a", payload: 1, on_conflict: "replace" },
    );
    expect(b).toEqual({ outcome: "replaced", id: a.id, status: "queued" });
    expect(await payloads([a])).toEqual([1]);
  });

  test("claim hands them out in the order of the input", async () => {
    const jobs = Array.from({ length: 50 }, (_, i) => ({
      kind: i % 3 === 0 ? "a" : "b",
      payload: i,
      ...(i % 7 === 0 && { key: `key ${50 - i}` }),
      ...(i % 11 === 0 && { once: `once ${50 - i}` }),
    }));
    await many(...jobs);
    const claimed = await rows("claim", ["a", "b"], 50);
    expect(claimed.map(({ payload }) => payload)).toEqual(jobs.map(({ payload }) => payload));
  });

  const batch = (length: number) => json(Array(length).fill({ kind: "k" }));

  test("takes no job at all, and not more than 10,000", async () => {
    expect(await many()).toEqual([]);
    await expect(call("enqueue_many", batch(10_001))).rejects.toMatchObject({
      code: "LH002",
      message: "p_jobs is an array of 10001",
      hint: "Give an array of at most 10000 jobs.",
    });
    expect(await count()).toBe(0);
  });

  // Slow on PGlite.
  test.runIf(backend === "postgres")("takes 10,000 jobs", async () => {
    const answers: Row[] = await call("enqueue_many", batch(10_000));
    expect(new Set(answers.map(({ id }) => id)).size).toBe(10_000);
    expect(await count()).toBe(10_000);
  });

  test.each([
    ["{}", "LH002", "p_jobs is {}"],
    [null, "LH002", "p_jobs is null"],
    ['[{"kind": "k"}, 5]', "LH002", "p_jobs[1] is 5"],
    ['[{"kind": "k"}, null]', "LH002", "p_jobs[1] is null"],
    ['[{"payload": 1}]', "LH002", 'p_jobs[0] is {"payload": 1}'],
    ['[{"kind": 1}]', "LH002", 'p_jobs[0] is {"kind": 1}'],
    ['[{"kind": "k"}, {"kind": ""}]', "LH002", "p_jobs[1]: kind is ''"],
    ['[{"kind": "k"}, {"kind": "leasehold.x"}]', "LH002", "p_jobs[1]: kind is 'leasehold.x'"],
    ['[{"kind": "k"}, {"kind": "k", "priority": "x"}]', "LH002", 'p_jobs[1]: priority is "x"'],
    ['[{"kind": "k", "key": 0}]', "LH002", "p_jobs[0]: key is 0"],
    ['[{"kind": "k", "once": ["a"]}]', "LH002", 'p_jobs[0]: once is ["a"]'],
    ['[{"kind": "k", "once": "a", "once_for_ms": "b"}]', "LH002", 'p_jobs[0]: once_for_ms is "b"'],
    ['[{"kind": "k", "on_conflict": "rerun"}]', "LH002", "p_jobs[0]: on_conflict is rerun"],
    [
      '[{"kind": "k", "key": "a"}, {"kind": "k", "keys": "b"}]',
      "LH003",
      "p_jobs[1]: option keys is not known",
    ],
    [
      json([{ kind: "k" }, { kind: "k", payload: "x".repeat(1_048_576) }]),
      "LH004",
      "p_jobs[1]: payload has 1048578 bytes, more than 1048576",
    ],
  ])("refuses %.60s as a whole, and names the job", async (jobs, code, message) => {
    await expect(call("enqueue_many", jobs)).rejects.toMatchObject({
      code,
      message,
      hint: expect.any(String),
    });
    expect([await count(), await count("once")]).toEqual([0, 0]);
  });

  test("is rolled back with the caller's transaction, and stays usable after conflicts", async () => {
    const holder = await enqueue({ key: "a" });
    await session(async (own) => {
      await own.query("begin");
      const batch = json([
        { kind: "k", key: "a" },
        { kind: "k", key: "b", once: "o" },
      ]);
      expect(await own.call("enqueue_many", batch)).toEqual([conflict(holder), created]);
      expect(await own.count()).toBe(2);
      await own.query("rollback");
    });
    expect([await count(), await count("once")]).toEqual([1, 0]);
    const { changed } = await changes(holder, () => many({ kind: "k", key: "a" }));
    expect(changed).toEqual({});
  });
});
