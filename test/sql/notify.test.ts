import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Listening } from "../../src/database.ts";
import { type Backend, backends, type TestDatabaseOptions } from "../support/databases.ts";
import { type Fixture, json, useDatabase } from "./support/calls.ts";

interface Heard extends Fixture {
  /** What has been notified since the last look, in the order in which it came. */
  heard(): Promise<string[]>;
  /** Writes an idle worker of these kinds. */
  idle(kinds?: string[], more?: object): Promise<unknown>;
}

/** A database, and a connection that listens to it during each test. */
function useListener(backend: Backend, options?: TestDatabaseOptions): Heard {
  const fixture = useDatabase(backend, options);
  let listening: Listening | null = null;
  let payloads: string[] = [];
  beforeEach(async () => {
    payloads = [];
    const hooks = { onNotification: (one: string) => payloads.push(one), onLost: () => undefined };
    listening = await fixture.db.database.listen(hooks);
    if (listening === null) throw new Error("This database does not listen");
  });
  afterEach(() => listening?.close());
  return Object.defineProperties(
    {
      // Notifications come in the order of the commits: after this one, all before it have come.
      async heard() {
        await fixture.call("worker_echo", "end");
        while (!payloads.includes("echo end")) await new Promise((next) => setImmediate(next));
        return payloads.splice(0).filter((one) => one !== "echo end");
      },
      idle: (kinds = ["k"], more = {}) =>
        fixture.call("worker_beat", "0198a000-0000-7000-8000-000000000001", {
          ...{ name: "w", kinds, concurrency: 5, idle: true },
          ...more,
        }),
    },
    Object.getOwnPropertyDescriptors(fixture),
  ) as unknown as Heard;
}

describe.each(backends)("notifications on %s", (backend) => {
  const fixture = useListener(backend);
  const { call, enqueue, running, age, query, session, heard, idle } = fixture;

  test("an enqueue tells the idle workers of its kind, and how long until it is due", async () => {
    await idle(["j", "k"]);
    await enqueue();
    expect(await heard()).toEqual(["0 k"]);
    await enqueue({ run_after: "2020-01-01T00:00:00Z" });
    expect(await heard()).toEqual(["0 k"]);
    await enqueue({ delay_ms: 5000 });
    expect(await heard()).toEqual(["5000 k"]);
    await call("enqueue", "a kind of 3 words", "{}", {});
    await idle(["a kind of 3 words"]);
    await call("enqueue", "a kind of 3 words", "{}", { delay_ms: 1 });
    expect(await heard()).toEqual(["1 a kind of 3 words"]);
  });

  test("nobody is told where no worker is idle, or none has the kind, or none is alive", async () => {
    await enqueue();
    await idle(["k"], { idle: false });
    await enqueue();
    await idle(["j"]);
    await enqueue();
    await idle(["k"]);
    await query("update leasehold.workers set expires_at = seen_at");
    await enqueue();
    await idle(["k"], { concurrency: 6 });
    await query("update leasehold.workers set idle = false");
    await enqueue();
    expect(await heard()).toEqual([]);
  });

  test("a job that is more than an hour away is told to nobody", async () => {
    await idle();
    await enqueue({ delay_ms: 3_600_001 });
    await enqueue({ run_after: "9999-12-31T23:59:59Z" });
    expect(await heard()).toEqual([]);
    await enqueue({ delay_ms: 3_600_000 });
    expect(await heard()).toEqual(["3600000 k"]);
  });

  test("enqueue_many tells once of each kind, with the earliest delay", async () => {
    await idle(["k", "j", "i"]);
    const jobs = [
      ...Array.from({ length: 50 }, (_, n) => ({ kind: "k", delay_ms: 9000 - n * 100 })),
      ...[{ kind: "j", delay_ms: 1000 }, { kind: "j" }, { kind: "j", delay_ms: 500 }],
      { kind: "nobody's" },
    ];
    await call("enqueue_many", json(jobs));
    expect((await heard()).sort()).toEqual(["0 j", "4100 k"]);
    const keyed = ["a", "b", "c"].map((key) => ({ kind: "k", key }));
    await call("enqueue_many", json([...keyed, { kind: "i", once: "o" }, { kind: "i" }]));
    expect((await heard()).sort()).toEqual(["0 i", "0 k"]);
  });

  test("a conflict and a duplicate tell nobody; a replace does", async () => {
    await enqueue({ key: "a", once: "o" });
    await idle();
    await call("enqueue", "k", "{}", { key: "a" });
    await call("enqueue", "k", "{}", { key: "a", once: "o" });
    expect(await heard()).toEqual([]);
    await call("enqueue", "k", "{}", { key: "a", on_conflict: "replace", delay_ms: 2000 });
    expect(await heard()).toEqual(["2000 k"]);
  });

  test("a rerun tells when the run before it ends, not when it is asked for", async () => {
    const id = await running({ key: "a" });
    await idle();
    await call("enqueue", "k", "{}", { key: "a", on_conflict: "rerun" });
    expect(await heard()).toEqual([]);
    await call("complete", id, 1);
    expect(await heard()).toEqual(["0 k"]);
  });

  test("a failure tells with its backoff, a release with its delay", async () => {
    await call("define_kind", "k", { backoff_ms: [10_000] });
    const [failing, other, third] = [await running(), await running(), await running()];
    await idle();
    await call("fail", failing, 1, {});
    const [told] = await heard();
    expect(told).toMatch(/^1\d{4} k$/);
    expect(Number(told?.split(" ")[0])).toBeLessThanOrEqual(10_500);
    await call("release", other, 1, 2500);
    expect(await heard()).toEqual(["2500 k"]);
    const release = { id: third, generation: 1, action: "release", retry_after_ms: 700 };
    await call("finish_many", json([release]));
    expect(await heard()).toEqual(["700 k"]);
  });

  test("what ends a job for good tells nobody", async () => {
    const [done, failed, cancelled] = [await running(), await running(), await running()];
    const last = await running({ max_attempts: 1 }, 1000);
    await age(last, 2000);
    await idle();
    await call("complete", done, 1);
    await call("fail", failed, 1, {}, true);
    await call("cancel", cancelled);
    await call("release", cancelled, 1);
    expect(await call("reap")).toBe(1);
    expect(await heard()).toEqual([]);
  });

  test("a reap tells of what it queues, whoever reaps", async () => {
    const [one, two] = [await running({}, 1000), await running({}, 1000)];
    await Promise.all([age(one, 2000), age(two, 2000)]);
    await idle();
    await call("status", one);
    expect(await heard()).toEqual(["0 k"]);
    await call("reap");
    expect(await heard()).toEqual(["0 k"]);
  });

  test("retry, run_now and resume tell", async () => {
    const id = await running();
    await call("fail", id, 1, {}, true);
    await idle();
    await call("retry", id);
    expect(await heard()).toEqual(["0 k"]);
    await call("run_now", id);
    expect(await heard()).toEqual(["0 k"]);
    await call("resume", "k");
    await call("pause", "k");
    expect(await heard()).toEqual([]);
    await call("resume", "k");
    expect(await heard()).toEqual(["0 k"]);
  });

  test("S37: nothing with a rollback, and once with a commit, not before", async () => {
    await idle();
    await session(async (own) => {
      await own.query("begin");
      await own.enqueue();
      await own.query("rollback");
      await own.query("begin");
      await own.enqueue();
      await own.enqueue();
      if (backend === "postgres") expect(await heard()).toEqual([]);
      await own.query("commit");
      expect(await heard()).toEqual(["0 k"]);
      expect(await own.count()).toBe(2);
    });
  });

  test("worker_echo answers to whoever listens", async () => {
    await call("worker_echo", "0198a000-0000-7000-8000-000000000001");
    expect(await heard()).toEqual(["echo 0198a000-0000-7000-8000-000000000001"]);
  });
});

describe.each(["My Jobs", "ünïcode-schéma", "select"])(
  "the channel of a schema called %s",
  (schema) => {
    describe.each(backends)("on %s", (backend) => {
      const { enqueue, heard, idle } = useListener(backend, { schema });

      test("has its name", async () => {
        await idle();
        await enqueue({ delay_ms: 10 });
        expect(await heard()).toEqual(["10 k"]);
      });
    });
  },
);

describe('the channel of a schema called My "Jobs" on postgres', () => {
  const { enqueue, heard, idle } = useListener("postgres", { schema: 'My "Jobs"' });

  test("has its name", async () => {
    await idle();
    await enqueue();
    expect(await heard()).toEqual(["0 k"]);
  });
});
