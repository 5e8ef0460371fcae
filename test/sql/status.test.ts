import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

describe.each(backends)("status on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, enqueue, running, job, changes, events, age, session } = fixture;

  test("tells all of a job's life", async () => {
    const id = await enqueue({ owner: "ann", max_attempts: 2 });
    const fresh = {
      id,
      kind: "k",
      status: "queued",
      attempts: 0,
      max_attempts: 2,
      generation: 0,
      progress: null,
      result: null,
      error_code: null,
      cancel_requested: false,
      money: null,
      notice: "queued",
      created_at: expect.stringMatching(iso),
      started_at: null,
      finished_at: null,
    };
    expect(await call("status", id)).toEqual(fresh);
    await rows("claim_job", id);
    await call("extend", id, 1, null, { step: 1 });
    const begun = {
      ...fresh,
      status: "running",
      notice: "running",
      attempts: 1,
      generation: 1,
      progress: { step: 1 },
      started_at: expect.stringMatching(iso),
    };
    expect(await call("status", id, "ann")).toEqual(begun);
    await call("fail", id, 1, { code: "X", message: "secret" }, false, 0);
    const retrying = { ...begun, status: "queued", notice: "retrying", error_code: "X" };
    expect(await call("status", id)).toEqual(retrying);
    await rows("claim_job", id);
    await call("complete", id, 2, { ok: true });
    expect(await call("status", id, "ann")).toEqual({
      ...retrying,
      status: "completed",
      notice: "completed",
      attempts: 2,
      generation: 2,
      result: { ok: true },
      finished_at: expect.stringMatching(iso),
    });
  });

  test("its times are those of the row, in UTC, whatever the session's zone", async () => {
    const id = await running();
    await call("complete", id, 1);
    const { created_at, started_at, finished_at } = await job(id);
    await session(async (own) => {
      await own.query("set timezone = 'Asia/Tokyo'");
      const told = await own.call("status", id);
      expect(new Date(told.created_at)).toEqual(created_at);
      expect(new Date(told.started_at)).toEqual(started_at);
      expect(new Date(told.finished_at)).toEqual(finished_at);
    });
  });

  test("tells that a cancel was requested, and what came of it", async () => {
    const id = await running();
    await call("cancel", id);
    expect(await call("status", id)).toMatchObject({
      status: "running",
      cancel_requested: true,
      notice: "cancelling",
    });
    await call("release", id, 1);
    expect(await call("status", id)).toMatchObject({
      status: "cancelled",
      cancel_requested: true,
      notice: "cancelled",
      finished_at: expect.stringMatching(iso),
    });
  });

  test("S44: is null for another owner's job as for one that does not exist", async () => {
    const [anns, nobodys] = [await enqueue({ owner: "ann" }), await enqueue()];
    for (const [id, owner] of [
      [anns, "bob"],
      [anns, "Ann"],
      [anns, ""],
      [nobodys, "bob"],
      ["00000000-0000-7000-8000-000000000000", "bob"],
      ["00000000-0000-7000-8000-000000000000", null],
      [null, null],
    ]) {
      expect(await call("status", id, owner)).toBeNull();
    }
    expect(await call("status", anns, "ann")).toMatchObject({ id: anns });
    expect(await call("status", anns)).toMatchObject({ id: anns });
  });

  test("reaps the job first, and tells what became of it", async () => {
    const last = await running({ max_attempts: 1, owner: "ann" }, 1000);
    const again = await running({}, 1000);
    const unstarted = await enqueue({ start_within_ms: 1000 });
    for (const id of [last, again, unstarted]) await age(id, 2000);
    expect(await call("status", last, "ann")).toMatchObject({
      status: "failed",
      error_code: "LEASE_EXPIRED",
      notice: "failed",
      finished_at: expect.stringMatching(iso),
    });
    expect(await call("status", again)).toMatchObject({
      status: "queued",
      error_code: "LEASE_EXPIRED",
      notice: "retrying",
      attempts: 1,
      generation: 1,
    });
    expect(await call("status", unstarted)).toMatchObject({
      status: "failed",
      error_code: "NOT_STARTED",
      started_at: null,
    });
    expect(await events(last)).toMatchObject([{ event: "reaped", code: "LEASE_EXPIRED" }]);
    await call("status", last);
    expect(await events(last)).toHaveLength(1);
  });

  test("reaps no other job", async () => {
    const [id, other] = [await running({}, 1000), await running({}, 1000)];
    await age(id, 2000);
    await age(other, 2000);
    const { changed } = await changes(other, () => call("status", id));
    expect(changed).toEqual({});
  });

  test("does not reap for a foreign owner", async () => {
    const id = await running({ owner: "ann", max_attempts: 1 }, 1000);
    await age(id, 2000);
    const { answer, changed } = await changes(id, () => call("status", id, "bob"));
    expect([answer, changed]).toEqual([null, {}]);
    expect(await events(id)).toEqual([]);
  });

  test("reads only in a read-only transaction", async () => {
    const id = await running({ max_attempts: 1 }, 1000);
    await age(id, 2000);
    const { changed } = await changes(id, () =>
      session(async (own) => {
        await own.query("begin read only");
        expect(await own.call("status", id)).toMatchObject({
          status: "running",
          notice: "running",
        });
        await own.query("commit");
      }),
    );
    expect(changed).toEqual({});
    expect(await call("status", id)).toMatchObject({ status: "failed" });
  });

  test("shows neither payload nor message, owner, worker or lease", async () => {
    const id = await running({ owner: "ann", key: "secret" });
    await call("fail", id, 1, { code: "X", message: "secret", details: "secret" }, true);
    const told = await call("status", id);
    expect(JSON.stringify(told)).not.toMatch(/secret|ann|"w"/);
    expect(Object.keys(told)).toHaveLength(15);
  });
});
