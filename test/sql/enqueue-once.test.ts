import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const dayMs = 86_400_000;

describe.each(backends)("enqueue with once on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, query, enqueue, running, job, count, value } = fixture;
  const again = (options: object = {}, kind = "k") =>
    call("enqueue", kind, '{"v": 2}', { once: "o", ...options });
  const names = () =>
    query("select kind, owner, once, job_id from leasehold.once order by 1, 2, 3");

  test("answers the first job's id, however often it is called", async () => {
    const id = await enqueue({ once: "o" }, { v: 1 });
    for (let i = 0; i < 3; i++) {
      expect(await again()).toEqual({ outcome: "duplicate", id, status: "queued" });
    }
    expect(await job(id)).toMatchObject({ payload: { v: 1 } });
    expect(await count()).toBe(1);
    expect(await names()).toEqual([{ kind: "k", owner: "", once: "o", job_id: id }]);
  });

  test("tells the job's status of the day, also beyond its end", async () => {
    const id = await running({ once: "o" });
    expect(await again()).toEqual({ outcome: "duplicate", id, status: "running" });
    await call("complete", id, 1);
    expect(await again()).toEqual({ outcome: "duplicate", id, status: "completed" });
  });

  test("stays in force when the job is gone", async () => {
    const id = await running({ once: "o" });
    await call("complete", id, 1);
    await call("prune", { older_than_ms: 0 });
    expect(await count()).toBe(0);
    expect(await again()).toEqual({ outcome: "duplicate", id, status: null });
    expect(await count()).toBe(0);
  });

  test("is 30 days long, or as long as it was told", async () => {
    await enqueue({ once: "o" });
    await enqueue({ once: "short", once_for_ms: 1000 });
    const lengths = await query(
      `select once, (extract(epoch from o.expires_at - j.created_at) * 1000)::float8 as ms
       from leasehold.once o join leasehold.jobs j on j.id = o.job_id order by 1`,
    );
    expect(lengths).toEqual([
      { once: "o", ms: 30 * dayMs },
      { once: "short", ms: 1000 },
    ]);
  });

  test("is over after its time, and a new one begins", async () => {
    const first = await enqueue({ once: "o" });
    await ageAll(fixture.db, "once", 30 * dayMs - 60_000);
    expect(await again()).toMatchObject({ outcome: "duplicate", id: first });
    await ageAll(fixture.db, "once", 60_000);
    const second = await again();
    expect(second).toEqual({ outcome: "created", id: expect.any(String), status: "queued" });
    expect(await again()).toEqual({ outcome: "duplicate", id: second.id, status: "queued" });
    expect(await count("once")).toBe(1);
  });

  test("counts per kind and per owner", async () => {
    await enqueue({ once: "o" });
    for (const [options, kind] of [
      [{}, "other"],
      [{ owner: "ann" }, "k"],
      [{ owner: "bob" }, "k"],
    ] as const) {
      expect(await again(options, kind)).toMatchObject({ outcome: "created" });
      expect(await again(options, kind)).toMatchObject({ outcome: "duplicate" });
    }
    expect(await count()).toBe(4);
  });

  test("is decided before the key", async () => {
    const id = await enqueue({ once: "o", key: "a" });
    const holder = await enqueue({ key: "b" });
    expect(await again({ key: "a" })).toMatchObject({ outcome: "duplicate", id });
    expect(await again({ key: "b", on_conflict: "replace" })).toMatchObject({
      outcome: "duplicate",
      id,
    });
    expect(await job(holder)).toMatchObject({ payload: {} });
  });

  test("records nothing on a conflict", async () => {
    const holder = await enqueue({ key: "a" });
    expect(await again({ key: "a" })).toMatchObject({
      outcome: "conflict",
      holder: { id: holder },
    });
    expect(await names()).toEqual([]);
    await call("cancel", holder);
    expect(await again({ key: "a" })).toMatchObject({ outcome: "created" });
  });

  test("records nothing on a conflict where an old name's time is over", async () => {
    const first = await enqueue({ once: "o" });
    await ageAll(fixture.db, "once", 31 * dayMs);
    const holder = await enqueue({ key: "a" });
    expect(await again({ key: "a" })).toMatchObject({
      outcome: "conflict",
      holder: { id: holder },
    });
    expect(await again()).toMatchObject({
      outcome: "created",
      id: expect.not.stringMatching(first),
    });
  });

  test("records the holder that was replaced or that runs again", async () => {
    const id = await enqueue({ key: "a" });
    expect(await again({ key: "a", on_conflict: "replace" })).toMatchObject({
      outcome: "replaced",
    });
    expect(await again({ key: "a" })).toEqual({ outcome: "duplicate", id, status: "queued" });
    await call("claim_job", id);
    const rerun = { key: "a", on_conflict: "rerun", once: "p" };
    expect(await again(rerun)).toMatchObject({ outcome: "rerun", id });
    expect(await again(rerun)).toEqual({ outcome: "duplicate", id, status: "running" });
    expect(await value("select array_agg(job_id::text) from leasehold.once")).toEqual([id, id]);
  });
});
