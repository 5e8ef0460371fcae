import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

describe.each(backends)("claim_job on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running, job, changes, age } = fixture;
  const unknown = "00000000-0000-7000-8000-000000000000";

  test("claims the one it names as claim would", async () => {
    const [named, twin] = [await enqueue({ owner: "ann", priority: 5 }), await enqueue()];
    const { answer, changed } = await changes(named, () =>
      rows("claim_job", named, 1000, "me", 2000),
    );
    expect(changed).toEqual({
      status: "running",
      attempts: 1,
      generation: 1,
      claimed_at: expect.any(Date),
      started_at: changed.claimed_at,
      lease_ms: 1000,
      lease_until: new Date(changed.claimed_at.getTime() + 1000),
      timeout_at: new Date(changed.claimed_at.getTime() + 2000),
      worker: "me",
    });
    const other = (await rows("claim", ["k"]))[0];
    expect(answer).toEqual([
      {
        ...other,
        id: named,
        owner: "ann",
        run_after: expect.any(String),
        lease_until: expect.stringMatching(/Z$/),
        timeout_at: expect.stringMatching(/Z$/),
      },
    ]);
    expect(other?.id).toBe(twin);
    expect(Object.keys(answer[0])).toEqual(Object.keys(other as object));
  });

  test("takes the kind's lease and timeout, else 5 minutes and an hour", async () => {
    const lengths = (id: string) =>
      query(
        `select extract(epoch from lease_until - claimed_at)::int as lease,
           extract(epoch from timeout_at - claimed_at)::int as timeout
         from leasehold.jobs where id = $1`,
        [id],
      );
    const [first, second] = [await enqueue(), await enqueue()];
    await rows("claim_job", first);
    expect(await lengths(first)).toEqual([{ lease: 300, timeout: 3600 }]);
    await call("define_kind", "k", { lease_ms: 7000, timeout_ms: 9000 });
    await rows("claim_job", second);
    expect(await lengths(second)).toEqual([{ lease: 7, timeout: 9 }]);
  });

  test("answers no row for what can't be claimed, and changes nothing", async () => {
    const delayed = await enqueue({ delay_ms: 60_000 });
    const claimed = await running();
    const completed = await running();
    await call("complete", completed, 1);
    const cancelled = await enqueue();
    await call("cancel", cancelled);
    for (const id of [delayed, claimed, completed, cancelled]) {
      const { answer, changed } = await changes(id, () => rows("claim_job", id));
      expect([answer, changed]).toEqual([[], {}]);
    }
    expect(await rows("claim_job", unknown)).toEqual([]);
    expect(await rows("claim_job", null)).toEqual([]);
  });

  test("answers no row for a paused kind", async () => {
    const id = await enqueue();
    await call("pause", "k");
    expect(await rows("claim_job", id)).toEqual([]);
    await call("resume", "k");
    expect(await rows("claim_job", id)).toHaveLength(1);
  });

  test("reaps the job first: what has attempts left is claimed again", async () => {
    const id = await running({}, 1000);
    await age(id, 2000);
    expect(await rows("claim_job", id)).toMatchObject([{ id, generation: 2, attempts: 2 }]);
    expect(await call("complete", id, 1)).toBe(false);
  });

  test("reaps the job first: the last attempt, the unstarted and the exhausted have failed", async () => {
    const last = await running({ max_attempts: 1 }, 1000);
    const unstarted = await enqueue({ start_within_ms: 1000 });
    const exhausted = await enqueue({ max_attempts: 3 });
    await query("update leasehold.jobs set attempts = 3 where id = $1", [exhausted]);
    for (const [id, code] of [
      [last, "LEASE_EXPIRED"],
      [unstarted, "NOT_STARTED"],
      [exhausted, "ATTEMPTS_EXHAUSTED"],
    ] as const) {
      await age(id, 2000);
      expect(await rows("claim_job", id)).toEqual([]);
      expect(await job(id)).toMatchObject({ status: "failed", last_error_code: code });
    }
  });

  test.each([
    [[0], "p_lease_ms is 0"],
    [[null, ""], "p_worker is ''"],
    [[null, null, -1], "p_timeout_ms is -1"],
  ])("refuses %j", async (values, message) => {
    const id = await enqueue();
    await expect(rows("claim_job", id, ...values)).rejects.toMatchObject({
      code: "LH002",
      message,
    });
    expect((await job(id)).status).toBe("queued");
  });
});
