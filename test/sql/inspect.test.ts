import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const at = expect.stringMatching(iso);

describe.each(backends)("inspect on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running, age, session } = fixture;

  test("knows no other job", async () => {
    expect(await call("inspect", "00000000-0000-7000-8000-000000000000")).toBeNull();
    expect(await call("inspect", null)).toBeNull();
  });

  test("shows a job as it was enqueued", async () => {
    const id = await enqueue({ key: "a/b?c#d", owner: "ann", start_within_ms: 60_000 }, [1, "b"]);
    expect(await call("inspect", id)).toEqual({
      at,
      job: (await call("list", { ids: [id] })).jobs[0],
      payload: [1, "b"],
      progress: null,
      result: null,
      rerun: null,
      lease_ms: null,
      start_within_ms: 60_000,
      budget_releases: 0,
      settle_after: null,
      trace_context: null,
      expired: false,
      holder: null,
      events: [],
      steps: [],
      holds: [],
      refunded: 0,
    });
  });

  test("shows what happened to it, the oldest first, and what its steps answered when", async () => {
    const id = await running();
    await call("step_save", id, 1, "fetch", "1");
    await call("extend", id, 1, 60_000, { done: 3 });
    await call("fail", id, 1, { code: "HTTP_503", message: "<script>" }, false, 0);
    await call("complete", id, 1);
    await rows("claim_job", id, 30_000, "w", 60_000);
    await call("complete", id, 2, { sent: true });
    const shown = await call("inspect", id);
    expect(shown).toMatchObject({
      job: { status: "completed", generation: 2, attempts: 2 },
      progress: { done: 3 },
      result: { sent: true },
      lease_ms: 30_000,
      steps: [{ name: "fetch", generation: 1, saved_at: at }],
      events: [
        {
          id: expect.any(Number),
          at,
          event: "failed",
          generation: 1,
          code: "HTTP_503",
          message: "<script>",
          detail: { attempt: 1, to: "queued", worker: "w" },
        },
        { event: "refused", generation: 1, detail: { action: "complete" } },
      ],
    });
  });

  test("of many events shows the newest 500", async () => {
    const id = await enqueue();
    await query(
      `insert into leasehold.job_events (job_id, at, event, code)
       select $1, now(), 'released', n::text from generate_series(1, 501) n`,
      [id],
    );
    const { events } = await call("inspect", id);
    expect(events).toHaveLength(500);
    expect([events[0].code, events[499].code]).toEqual(["2", "501"]);
  });

  test("says who holds the key of a failed job, and nobody where it does itself", async () => {
    const failed = await running({ key: "a" });
    expect(await call("inspect", failed)).toMatchObject({ holder: null });
    await call("fail", failed, 1, {}, true);
    expect(await call("inspect", failed)).toMatchObject({ holder: null });
    const holder = await enqueue({ key: "a", owner: "bob" });
    expect(await call("inspect", failed)).toMatchObject({
      holder: { id: holder, status: "queued" },
    });
    await call("cancel", holder);
    expect(await call("inspect", failed)).toMatchObject({ holder: null });
  });

  test("shows what the job held in each run, and what of it was refunded", async () => {
    await call("grant_credits", "ann", 10, "r");
    const id = await running({ cost: 3, account: "ann" });
    await call("fail", id, 1, {}, true);
    await call("retry", id);
    await rows("claim_job", id);
    await call("complete", id, 2);
    await call("refund", id, 2, "sorry");
    const ended = { account: "ann", amount: 3, created_at: at, ended_at: at };
    expect(await call("inspect", id)).toMatchObject({
      job: { money: "captured", cost: 3, account: "ann" },
      holds: [
        { run: 1, state: "given_back", ...ended },
        { run: 2, state: "captured", ...ended },
      ],
      refunded: 2,
    });
  });

  test("leaves out what is too large to be shown, and tells its size", async () => {
    const text = "x".repeat(262_142); // with its quotes as large as may be
    expect(await call("inspect", await enqueue({}, text))).toMatchObject({ payload: text });
    expect(await call("inspect", await enqueue({}, `${text}x`))).toMatchObject({
      payload: { omitted: "262145 bytes" },
    });
  });

  test("reads only: an orphan is shown as it stands", async () => {
    const id = await running({}, 1000);
    await age(id, 2000);
    await session(async (own) => {
      await own.query("begin read only");
      expect(await own.call("inspect", id)).toMatchObject({
        expired: true,
        job: { status: "running" },
      });
      await own.query("commit");
    });
  });
});
