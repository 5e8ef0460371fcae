import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, type Row, useDatabase } from "./support/calls.ts";

const unknown = "00000000-0000-7000-8000-000000000000";

describe.each(backends)("retry on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running, job, changes, events, span, age, session } = fixture;
  const failed = async (options: object = {}): Promise<string> => {
    const id = await running(options);
    await call("fail", id, 1, { code: "X", message: "m" }, true);
    return id;
  };

  test("gives a failed job all its attempts anew, and keeps its history", async () => {
    const id = await running({ start_within_ms: 60_000, max_attempts: 3 });
    await call("release", id, 1, 0, "BUDGET_EXCEEDED");
    await rows("claim_job", id);
    await call("extend", id, 2, null, { step: 1 });
    await call("fail", id, 2, { code: "X", message: "m" }, true);
    await age(id, 60_000);
    const before = await job(id);
    const { answer, changed } = await changes(id, () => call("retry", id));
    expect(answer).toEqual({ outcome: "retried", id, status: "queued" });
    expect(changed).toEqual({
      status: "queued",
      attempts: 0,
      releases: 0,
      run: 2,
      run_after: expect.any(Date),
      start_by: new Date(changed.run_after.getTime() + 60_000),
      claimed_at: null,
      timeout_at: null,
      started_at: null,
      finished_at: null,
      progress: null,
    });
    expect(await span(id, "clock_timestamp() - run_after")).toBeLessThan(30_000);
    expect(before).toMatchObject({ generation: 2, last_error_code: "X", max_attempts: 3 });
    expect((await events(id)).at(-1)).toEqual({
      event: "retried",
      generation: 2,
      detail: { from: "failed" },
    });
    expect(await rows("claim", ["k"])).toMatchObject([{ id, attempts: 1, generation: 3 }]);
  });

  test("takes up a cancelled job, its cancel forgotten", async () => {
    const id = await running();
    await call("cancel", id);
    await call("fail", id, 1, {});
    expect(await call("retry", id)).toEqual({ outcome: "retried", id, status: "queued" });
    expect(await job(id)).toMatchObject({ cancel_requested_at: null, run: 2, generation: 1 });
    await rows("claim_job", id);
    expect(await call("extend", id, 2)).toMatchObject({ held: true, cancel_requested: false });
    expect(await call("fail", id, 2, {})).toBe("queued");
  });

  test("an old claim is not valid again", async () => {
    const id = await failed();
    await call("retry", id);
    expect(await call("complete", id, 1)).toBe(false);
    await rows("claim_job", id);
    expect(await call("complete", id, 1)).toBe(false);
  });

  test.each(["queued", "running", "completed"])("leaves a %s job alone", async (status) => {
    const id = status === "queued" ? await enqueue() : await running();
    if (status === "completed") await call("complete", id, 1);
    const { answer, changed } = await changes(id, () => call("retry", id));
    expect(answer).toEqual({ outcome: "wrong_status", id, status });
    expect(changed).toEqual({});
  });

  test("does not know another owner's job, as one that does not exist", async () => {
    const [id, bare] = [await failed({ owner: "ann" }), await failed()];
    const unknownJob = { outcome: "unknown", id: null, status: null };
    const { answer, changed } = await changes(id, () => call("retry", id, "bob"));
    expect([answer, changed]).toEqual([unknownJob, {}]);
    expect(await call("retry", bare, "bob")).toEqual(unknownJob);
    expect(await call("retry", unknown, "bob")).toEqual(unknownJob);
    expect(await call("retry", unknown)).toEqual(unknownJob);
    expect(await call("retry", null)).toEqual(unknownJob);
    expect(await call("retry", id, "ann")).toMatchObject({ outcome: "retried" });
  });

  test("is a conflict where another job holds the key, and the transaction goes on", async () => {
    const id = await failed({ key: "a" });
    const holder = await enqueue({ key: "a" });
    await session(async (own) => {
      await own.query("begin");
      const { answer, changed } = await own.changes(id, () => own.call("retry", id));
      expect(answer).toEqual({ outcome: "conflict", id, status: "failed" });
      expect(changed).toEqual({});
      await own.enqueue();
      await own.query("commit");
    });
    await rows("claim_job", holder);
    expect(await call("retry", id)).toMatchObject({ outcome: "conflict" });
    await call("complete", holder, 1);
    expect(await call("retry", id)).toMatchObject({ outcome: "retried" });
  });

  test("an orphan on its last attempt holds no key", async () => {
    const id = await failed({ key: "a" });
    const holder = await running({ key: "a", max_attempts: 1 }, 1000);
    await age(holder, 2000);
    expect(await call("retry", id)).toEqual({ outcome: "retried", id, status: "queued" });
    expect(await job(holder)).toMatchObject({ status: "failed", last_error_code: "LEASE_EXPIRED" });
  });

  test("an orphan that was to be cancelled, or that nobody started, holds no key", async () => {
    const id = await failed({ key: "a" });
    const cancelled = await running({ key: "a" }, 1000);
    await call("cancel", cancelled);
    await age(cancelled, 2000);
    expect(await call("retry", id)).toEqual({ outcome: "retried", id, status: "queued" });
    expect(await job(cancelled)).toMatchObject({ status: "cancelled" });
    await call("cancel", id);
    const unstarted = await enqueue({ key: "a", start_within_ms: 1000 });
    await age(unstarted, 2000);
    expect(await call("retry", id)).toEqual({ outcome: "retried", id, status: "queued" });
    expect(await job(unstarted)).toMatchObject({ status: "failed" });
  });

  test("an orphan with attempts left holds its key", async () => {
    const id = await failed({ key: "a" });
    const holder = await running({ key: "a" }, 1000);
    await age(holder, 2000);
    expect(await call("retry", id)).toEqual({ outcome: "conflict", id, status: "failed" });
    expect(await job(holder)).toMatchObject({ status: "queued", last_error_code: "LEASE_EXPIRED" });
  });

  test.each(["kind", "key", "owner", "status", "error_code", "after"])(
    "a filter whose %s is null is refused in bulk: a variable that was never set means nobody (S16)",
    async (name) => {
      const id = await running({ max_attempts: 1 });
      for (const bulk of ["retry_many", "cancel_many"]) {
        await expect(call(bulk, { [name]: null })).rejects.toMatchObject({
          code: "LH002",
          message: expect.stringContaining(name),
          hint: expect.stringContaining("leave it out"),
        });
      }
      expect(await job(id)).toMatchObject({ status: "running", cancel_requested_at: null });
    },
  );

  describe("retry_many", () => {
    const many = (filter: object) => call("retry_many", filter);
    const sorted = (skipped: Row[]) => skipped.map(({ id }) => id).sort();

    test("S14: one conflict spoils nothing else", async () => {
      const j1 = await failed({ key: "a" });
      const j2 = await enqueue({ key: "a" });
      const [j3, j4, j5] = [await failed({ key: "b" }), await failed(), await failed({ key: "c" })];
      const j6 = await failed({ key: "c" });
      const answer = await many({ kind: "k" });
      expect(answer.retried).toBe(3);
      expect(answer.skipped).toHaveLength(2);
      for (const { outcome } of answer.skipped) expect(outcome).toBe("conflict");
      const statusOf = async (id: string) => (await job(id)).status;
      expect(await Promise.all([j1, j2, j3, j4].map(statusOf))).toEqual([
        ...["failed", "queued", "queued", "queued"],
      ]);
      expect((await Promise.all([j5, j6].map(statusOf))).sort()).toEqual(["failed", "queued"]);
      const stayed = await query(
        "select id from leasehold.jobs where status = 'failed' order by id",
      );
      expect(sorted(answer.skipped)).toEqual(stayed.map(({ id }) => id));
    });

    test("takes failed and cancelled ones, unless the filter says which", async () => {
      const [one, two] = [await failed(), await enqueue()];
      await call("cancel", two);
      await enqueue();
      expect(await many({ kind: "k", status: "cancelled" })).toEqual({ retried: 1, skipped: [] });
      expect(await job(one)).toMatchObject({ status: "failed" });
      expect(await many({ kind: "k" })).toEqual({ retried: 1, skipped: [] });
      expect(await many({})).toEqual({ retried: 0, skipped: [] });
    });

    test("tells what it did with each id it was given", async () => {
      const [id, queued, done] = [await failed(), await enqueue(), await running()];
      await call("complete", done, 1);
      const answer = await many({ ids: [unknown, done, queued, id] });
      expect(answer.retried).toBe(1);
      expect(answer.skipped).toHaveLength(3);
      expect(answer.skipped).toEqual(
        expect.arrayContaining([
          { id: unknown, outcome: "unknown" },
          { id: queued, outcome: "wrong_status" },
          { id: done, outcome: "wrong_status" },
        ]),
      );
    });

    test("an id that the limit leaves out is not called unknown", async () => {
      const ids = [await failed(), await failed(), await failed()];
      expect(await many({ ids, limit: 1 })).toEqual({ retried: 1, skipped: [] });
      expect(await many({ ids, limit: 2 })).toMatchObject({ retried: 1 });
    });

    test("takes every id that it was given, also more than its usual limit", async () => {
      const jobs = Array(1100).fill({ kind: "k" });
      const ids = (await call("enqueue_many", json(jobs))).map(({ id }: Row) => id);
      await query("update leasehold.jobs set status = 'failed', finished_at = created_at");
      expect(await many({ ids })).toEqual({ retried: 1100, skipped: [] });
    });

    test("takes the filter's owner and error code, and at most a thousand", async () => {
      const anns = await failed({ owner: "ann" });
      const bobs = await failed({ owner: "bob" });
      expect(await many({ owner: "ann", error_code: "Y" })).toEqual({ retried: 0, skipped: [] });
      expect(await many({ owner: "ann", error_code: "X" })).toEqual({ retried: 1, skipped: [] });
      expect(await many({ ids: [anns, bobs], owner: "ann" })).toMatchObject({
        retried: 0,
        skipped: [
          { id: bobs, outcome: "unknown" },
          { id: anns, outcome: "wrong_status" },
        ],
      });
      await query(`insert into leasehold.jobs (id, kind, status, finished_at)
        select gen_random_uuid(), 'many', 'failed', now() from generate_series(1, 1001)`);
      expect(await many({ kind: "many" })).toEqual({ retried: 1000, skipped: [] });
    });

    test.each([{ kinds: ["k"] }, { status: [] }, { ids: ["abc"] }, { limit: 0 }])(
      "refuses %j and retries nothing",
      async (filter) => {
        const id = await failed();
        await expect(many(filter)).rejects.toMatchObject({
          code: expect.stringMatching(/^LH00[23]$/),
        });
        expect((await job(id)).status).toBe("failed");
      },
    );
  });
});
