import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, useDatabase } from "./support/calls.ts";

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe.each(backends)("enqueue on %s", (backend) => {
  const { call, query, value, enqueue, job, span, count, session, events } = useDatabase(backend);

  /** A row as it is born. */
  const born = {
    id: expect.stringMatching(uuid7),
    kind: "k",
    key: null,
    owner: null,
    payload: {},
    status: "queued",
    priority: 0,
    attempts: 0,
    max_attempts: 5,
    generation: 0,
    releases: 0,
    budget_releases: 0,
    run_after: expect.any(Date),
    start_within_ms: null,
    start_by: null,
    claimed_at: null,
    lease_ms: null,
    lease_until: null,
    timeout_at: null,
    progress: null,
    result: null,
    last_error_code: null,
    last_error_message: null,
    worker: null,
    created_at: expect.any(Date),
    started_at: null,
    finished_at: null,
    cancel_requested_at: null,
    rerun: null,
    run: 1,
    money: null,
    cost: null,
    account: null,
    external: false,
    settle_after: null,
    trace_context: null,
  };

  test("creates a job with a kind alone", async () => {
    const answer = await call("enqueue", "k");
    expect(answer).toEqual({ outcome: "created", id: born.id, status: "queued" });
    expect(await query("select * from leasehold.jobs")).toEqual([{ ...born, id: answer.id }]);
    expect(await span(answer.id, "run_after - created_at")).toBe(0);
    expect(await count("once")).toBe(0);
    expect(await events(answer.id)).toEqual([]);
  });

  test("stores what the options say", async () => {
    const id = await enqueue(
      {
        key: "it's a key",
        owner: "ann",
        priority: -5,
        delay_ms: 90_000,
        start_within_ms: 30_000,
        max_attempts: 2,
        on_conflict: "replace",
      },
      { emailId: [1, "ü", null] },
    );
    expect(await job(id)).toEqual({
      ...born,
      key: "it's a key",
      owner: "ann",
      payload: { emailId: [1, "ü", null] },
      priority: -5,
      max_attempts: 2,
      start_within_ms: 30_000,
      start_by: expect.any(Date),
    });
    expect(await span(id, "run_after - created_at")).toBe(90_000);
    expect(await span(id, "start_by - run_after")).toBe(30_000);
  });

  test("a payload is any JSON value, and the one that is left out is {}", async () => {
    for (const payload of ["[1, 2]", '"text"', "5", "true", "null", '{"a": null}']) {
      const { id } = await call("enqueue", "k", payload);
      expect((await job(id)).payload).toEqual(JSON.parse(payload));
    }
    expect((await job((await call("enqueue", "k", null)).id)).payload).toBeNull();
  });

  test("run_after is a moment with a zone, whatever the session's zone is", async () => {
    await session(async (own) => {
      await own.query("set timezone = 'Asia/Kathmandu'");
      await own.query("set datestyle = 'German'");
      for (const [text, utc] of [
        ["2030-01-31T12:00:00Z", "2030-01-31T12:00:00.000Z"],
        ["2030-01-31T12:00:00.123456+02:00", "2030-01-31T10:00:00.123Z"],
        ["2030-01-31 12:00-0330", "2030-01-31T15:30:00.000Z"],
      ]) {
        const id = await own.enqueue({ run_after: text });
        const at = await own.value(
          "select extract(epoch from run_after)::float8 from leasehold.jobs where id = $1",
          [id],
        );
        expect(new Date(at * 1000).toISOString()).toBe(utc);
      }
    });
  });

  test("a run_after in the past puts the job at the head, and start_by counts from now", async () => {
    const id = await enqueue({ run_after: "2001-01-01T00:00:00Z", start_within_ms: 1000 });
    expect((await job(id)).run_after).toEqual(new Date("2001-01-01T00:00:00Z"));
    expect(await span(id, "start_by - created_at")).toBe(1000);
  });

  test("the kind's defaults hold where the options say nothing", async () => {
    await call("define_kind", "k", { max_attempts: 2, start_within_ms: 4000 });
    const id = await enqueue({ delay_ms: 1000 });
    expect(await job(id)).toMatchObject({ max_attempts: 2, start_within_ms: 4000 });
    expect(await span(id, "start_by - created_at")).toBe(5000);
    const own = await enqueue({ max_attempts: 7, start_within_ms: 1 });
    expect(await job(own)).toMatchObject({ max_attempts: 7, start_within_ms: 1 });
  });

  test("key, owner and once of null are none at all", async () => {
    const none = { key: null, owner: null, once: null };
    const first = await enqueue(none);
    expect(await enqueue(none)).not.toBe(first);
    expect(await job(first)).toEqual({ ...born, id: first });
    expect(await count("once")).toBe(0);
  });

  test("the text 'null' and the like are keys like any other", async () => {
    for (const key of ["null", "undefined", "0", "\u{1F600}", "ключ", "a b"]) {
      expect(await call("enqueue", "k", "{}", { key })).toMatchObject({ outcome: "created" });
      expect(await call("enqueue", "k", "{}", { key })).toMatchObject({ outcome: "conflict" });
    }
  });

  test("ids sort in the order of the calls, as finely as the clock ticks", async () => {
    await session(async (own) => {
      const ids = [];
      for (let i = 0; i < 20; i++) ids.push(await own.enqueue());
      // PGlite's clock knows milliseconds alone.
      const times = ids.map((id) => id.slice(0, backend === "pglite" ? 13 : 18));
      expect(times).toEqual([...times].sort());
      expect(new Set(ids).size).toBe(20);
    });
  });

  test("an id tells when the job was made", async () => {
    const id = await enqueue();
    const createdAt = await value(
      "select floor(extract(epoch from created_at) * 1000)::int8 from leasehold.jobs",
    );
    expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(createdAt);
  });

  test("nothing of a transaction that rolls back stays, and the key is free", async () => {
    await session(async (own) => {
      await own.query("begin");
      expect(await own.call("enqueue", "k", "{}", { key: "a", once: "o" })).toMatchObject({
        outcome: "created",
      });
      await own.query("rollback");
    });
    expect([await count(), await count("once")]).toEqual([0, 0]);
    expect(await call("enqueue", "k", "{}", { key: "a", once: "o" })).toMatchObject({
      outcome: "created",
    });
  });

  test.runIf(backend === "postgres")(
    "in a long transaction a job's times are those of the call",
    () =>
      session(async (own) => {
        await own.query("begin");
        const first = await own.enqueue();
        const second = await own.enqueue();
        expect(await own.span(first, "created_at - now()")).toBeGreaterThan(0);
        const between =
          "select a.created_at < b.created_at from leasehold.jobs a, leasehold.jobs b";
        expect(await own.value(`${between} where a.id = $1 and b.id = $2`, [first, second])).toBe(
          true,
        );
        await own.query("commit");
      }),
  );

  test("a payload of 1 MB is taken, one of a byte more is refused", async () => {
    // As PostgreSQL prints it: two quotes around the text.
    const id = await enqueue({}, "x".repeat(1_048_574));
    expect((await job(id)).payload).toHaveLength(1_048_574);
    await expect(call("enqueue", "k", json("x".repeat(1_048_575)))).rejects.toMatchObject({
      code: "LH004",
      message: "payload has 1048577 bytes, more than 1048576",
      hint: "Store it elsewhere and pass a reference to it.",
    });
    await expect(call("enqueue", "k", json("ü".repeat(524_288)))).rejects.toMatchObject({
      code: "LH004",
    });
    expect(await count()).toBe(1);
  });

  test("emoji and odd characters of a payload survive", async () => {
    const odd = { "\u{1F600}\u0001": "\u007f\u2028\\\"'\u{10FFFF}", "": " " };
    expect((await job(await enqueue({}, odd))).payload).toEqual(odd);
  });
});
