import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import { backends } from "../support/databases.ts";
import { json, useDatabase } from "./support/calls.ts";

const id = "0198a000-0000-7000-8000-000000000001";
const other = "0198a000-0000-7000-8000-000000000002";
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const state = { name: "w1", kinds: ["k", "j"], concurrency: 5 };
const nothing = { due: false, next_ms: null };

describe.each(backends)("workers on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, query, session, count } = fixture;

  const beat = (more: object = {}, worker = id) =>
    call("worker_beat", worker, { ...state, ...more });
  const row = async (worker = id) =>
    (await query("select *, xmin::text from leasehold.workers where id = $1", [worker]))[0];
  const pass = (ms: number) => ageAll(fixture.db, "workers", ms);

  describe("worker_beat", () => {
    test("writes the worker's row at its first beat", async () => {
      expect(await beat()).toEqual({ ...nothing, idle_workers: 0 });
      const written = await row();
      expect(written).toMatchObject({
        ...{ id, name: "w1", kinds: ["j", "k"], concurrency: 5 },
        ...{ idle: false, idle_since: null, listener: null },
      });
      expect(written?.started_at).toEqual(written?.seen_at);
      expect(written?.expires_at - written?.seen_at).toBe(60_000);
    });

    test("writes what has changed, and keeps when it started", async () => {
      await beat();
      await pass(5000);
      const before = await row();
      await beat({ name: "w2", kinds: ["i", "i"], concurrency: 9, ttl_ms: 1000 });
      const after = await row();
      expect(after).toMatchObject({ name: "w2", kinds: ["i"], concurrency: 9 });
      expect(after?.started_at).toEqual(before?.started_at);
      expect(after?.seen_at - before?.seen_at).toBeGreaterThanOrEqual(5000);
      expect(after?.expires_at - after?.seen_at).toBe(1000);
    });

    test.each([
      { name: "w2" },
      { kinds: ["k"] },
      { concurrency: 6 },
      { idle: true },
      { listening: true },
      { ttl_ms: 61_000 },
    ])("writes at once where %j is new", async (change) => {
      await beat();
      const before = await row();
      await beat(change);
      expect((await row())?.xmin).not.toBe(before?.xmin);
    });

    test("with nothing new, writes only when a third of its time has passed", async () => {
      await beat({ idle: true, ttl_ms: 30_000 });
      await pass(9_000);
      const before = await row();
      await beat({ idle: true, ttl_ms: 30_000 });
      expect(await row()).toEqual(before);
      await pass(1_001);
      await beat({ idle: true, ttl_ms: 30_000 });
      expect((await row())?.seen_at - before?.seen_at).toBeGreaterThanOrEqual(9_000);
    });

    test("keeps since when it is idle, and forgets that when it works", async () => {
      await beat({ idle: true });
      const since = (await row())?.idle_since;
      expect(since).toEqual((await row())?.seen_at);
      await beat({ idle: true, concurrency: 6 });
      expect((await row())?.idle_since).toEqual(since);
      await beat({ idle: false });
      expect(await row()).toMatchObject({ idle: false, idle_since: null });
      await pass(1000);
      await beat({ idle: true });
      expect((await row())?.idle_since > since).toBe(true);
    });

    test("names the connection that listens", async () => {
      await session(async (own) => {
        const pid = await own.value("select pg_backend_pid()");
        await own.call("worker_beat", id, { ...state, listening: true });
        expect(await row()).toMatchObject({ listener: pid });
        await own.call("worker_beat", id, { ...state, listening: false });
        expect(await row()).toMatchObject({ listener: null });
      });
    });

    test("sweeps workers that were not heard of in their time", async () => {
      await beat({ ttl_ms: 60_000 }, other);
      await pass(30_000);
      await beat();
      expect(await count("workers")).toBe(2);
      await pass(30_000);
      await beat({ concurrency: 6 });
      expect(await row(other)).toBeUndefined();
      expect(await row()).toBeDefined();
    });

    test.runIf(backend === "postgres")(
      "sweeps a worker whose listening connection is gone, and no other",
      async () => {
        const [polls, listens, dies] = [randomUUID(), await fixture.db.connect(), randomUUID()];
        await beat({}, polls);
        await listens.query("select leasehold.worker_beat($1, $2)", [
          ...[id, json({ ...state, listening: true })],
        ]);
        const dying = await fixture.db.connect();
        await dying.query("select leasehold.worker_beat($1, $2)", [
          ...[dies, json({ ...state, listening: true })],
        ]);
        await beat({ concurrency: 6 }, polls);
        expect(await count("workers")).toBe(3);
        await dying.close();
        await gone(dying.pid);
        await beat({ concurrency: 7 }, polls);
        expect(await row(dies)).toBeUndefined();
        expect(await count("workers")).toBe(2);
        // It lost its connection only: its next beat, on a new one, brings it back.
        await beat({}, dies);
        expect(await row(dies)).toMatchObject({ listener: null });
        await listens.close();
      },
    );

    test("counts the idle workers that share a kind", async () => {
      await beat({ idle: true, kinds: ["a"] }, randomUUID());
      await beat({ idle: true, kinds: ["j", "a"] }, randomUUID());
      await beat({ idle: false }, randomUUID());
      expect(await beat({ idle: true })).toEqual({ ...nothing, idle_workers: 2 });
      expect(await beat({ idle: false })).toEqual({ ...nothing, idle_workers: 0 });
      await beat({ idle: true });
      await query("update leasehold.workers set expires_at = seen_at where id <> $1", [id]);
      expect(await beat({ idle: true })).toEqual({ ...nothing, idle_workers: 1 });
    });

    test.each([
      [{ name: undefined }, "LH002", /^name is /],
      [{ name: " " }, "LH002", /^name is /],
      [{ name: 5 }, "LH002", "name is 5"],
      [{ kinds: undefined }, "LH002", /kinds is /],
      [{ kinds: [] }, "LH002", /kinds is /],
      [{ kinds: "k" }, "LH002", /kinds is /],
      [{ kinds: ["k", null] }, "LH002", /kinds is /],
      [{ concurrency: undefined }, "LH002", "concurrency is null"],
      [{ concurrency: 0 }, "LH002", "concurrency is 0"],
      [{ concurrency: 10_001 }, "LH002", "concurrency is 10001"],
      [{ running: 1 }, "LH003", "option running is not known"],
      [{ idle: "yes" }, "LH002", 'idle is "yes"'],
      [{ listening: 1 }, "LH002", "listening is 1"],
      [{ ttl_ms: 0 }, "LH002", "ttl_ms is 0"],
      [{ ttl_ms: 86_400_001 }, "LH002", "ttl_ms is 86400001"],
      [{ pid: 5 }, "LH003", "option pid is not known"],
    ])("refuses %j and writes nothing", async (bad, code, message) => {
      await expect(beat(bad)).rejects.toMatchObject({
        ...{ code, hint: expect.any(String) },
        message: typeof message === "string" ? message : expect.stringMatching(message),
      });
      expect(await count("workers")).toBe(0);
    });

    test("refuses a worker without an id, or without a state", async () => {
      const refused = (message: string) => expect.objectContaining({ code: "LH002", message });
      await expect(call("worker_beat", null, state)).rejects.toEqual(refused("p_id is null"));
      await expect(call("worker_beat", id, null)).rejects.toEqual(refused("p_state is null"));
      await expect(call("worker_beat", id, "[]")).rejects.toEqual(refused("p_state is []"));
    });
  });

  describe("worker_stop", () => {
    test("takes the worker away, once, and no other", async () => {
      await beat();
      await beat({}, other);
      expect(await call("worker_stop", id)).toBe(true);
      expect(await call("worker_stop", id)).toBe(false);
      expect(await call("worker_stop", null)).toBe(false);
      expect([await row(), await row(other)]).toEqual([undefined, expect.anything()]);
    });

    test("sweeps who is gone", async () => {
      await beat({ ttl_ms: 1 }, other);
      await pass(10);
      await call("worker_stop", id);
      expect(await count("workers")).toBe(0);
    });
  });

  describe("workers", () => {
    test("shows those that are alive, the oldest first", async () => {
      const now = await call("workers");
      expect(now).toEqual({ at: expect.stringMatching(iso), workers: [] });
      await beat({ idle: true, name: "w2" }, other);
      await fixture.enqueue();
      await query("select from leasehold.claim(array['k'], p_worker => 'w2')");
      await pass(1000);
      await beat({ listening: true });
      const { workers } = await call("workers");
      const at = expect.stringMatching(iso);
      expect(workers).toEqual([
        {
          ...{ id: other, name: "w2", kinds: ["j", "k"], concurrency: 5, running: 1, idle: true },
          ...{ idle_since: at, listening: false, started_at: at, seen_at: at },
        },
        {
          ...{ id, name: "w1", kinds: ["j", "k"], concurrency: 5, running: 0, idle: false },
          // On PostgreSQL each call may have another connection of the pool: none has ended.
          ...{ idle_since: null, listening: true, started_at: at, seen_at: at },
        },
      ]);
    });

    test("sweeps who is gone", async () => {
      await beat({ ttl_ms: 1000 });
      await pass(1000);
      expect(await call("workers")).toMatchObject({ workers: [] });
      expect(await count("workers")).toBe(0);
    });

    test("reads only in a read-only transaction, and shows nobody who is gone", async () => {
      await beat({ ttl_ms: 1000 });
      await beat({}, other);
      await pass(1000);
      await session(async (own) => {
        await own.query("begin read only");
        expect((await own.call("workers")).workers).toMatchObject([{ id: other }]);
        await own.query("commit");
      });
      expect(await count("workers")).toBe(2);
    });
  });

  const gone = async (pid: number): Promise<void> => {
    const alive = "select exists (select from pg_stat_activity where pid = $1)";
    while (await fixture.value(alive, [pid])) await new Promise((next) => setImmediate(next));
  };
});
