import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const undefinedKind = {
  ...{ paused_at: null, workers: 0, max_attempts: null, backoff_ms: null, lease_ms: null },
  ...{ timeout_ms: null, start_within_ms: null, retain_ms: null },
};

describe.each(backends)("kinds on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, enqueue, running, session } = fixture;
  const beat = (kinds: string[]) =>
    call("worker_beat", randomUUID(), { name: "w", kinds, concurrency: 1, ttl_ms: 60_000 });
  const names = async () => (await call("kinds")).kinds.map((one: { kind: string }) => one.kind);

  test("lists nothing where nothing is", async () => {
    expect(await call("kinds")).toEqual({ at: expect.stringMatching(iso), kinds: [] });
  });

  test("shows a kind's defaults", async () => {
    const defaults = {
      ...{ max_attempts: 3, backoff_ms: [1, 2], lease_ms: 4, timeout_ms: 5 },
      ...{ start_within_ms: 6_000_000_000, retain_ms: 7_000_000_000 },
    };
    await call("define_kind", "k", defaults);
    expect((await call("kinds")).kinds).toEqual([{ ...undefinedKind, kind: "k", ...defaults }]);
  });

  test("lists who is defined, paused, unfinished or worked on, once and by name", async () => {
    await call("define_kind", "d", { max_attempts: 1 });
    await call("pause", "p");
    await enqueue();
    await running();
    await call("enqueue", "j", "{}", { delay_ms: 60_000 });
    await beat(["w", "k"]);
    await beat(["k", "d"]);
    expect((await call("kinds")).kinds).toEqual([
      { ...undefinedKind, kind: "d", max_attempts: 1, workers: 1 },
      { ...undefinedKind, kind: "j" },
      { ...undefinedKind, kind: "k", workers: 2 },
      { ...undefinedKind, kind: "p", paused_at: expect.stringMatching(iso) },
      { ...undefinedKind, kind: "w", workers: 1 },
    ]);
  });

  test("forgets a kind when its last job has ended, and its last worker is gone", async () => {
    const id = await running();
    await beat(["w", "p"]);
    await call("pause", "p");
    expect(await names()).toEqual(["k", "p", "w"]);
    await call("complete", id, 1);
    expect(await names()).toEqual(["p", "w"]);
    await ageAll(fixture.db, "workers", 60_000);
    expect((await call("kinds")).kinds).toMatchObject([{ kind: "p", workers: 0 }]);
  });

  test("reads only", async () => {
    await call("pause", "k");
    await session(async (own) => {
      await own.query("begin read only");
      expect((await own.call("kinds")).kinds).toMatchObject([{ kind: "k" }]);
      await own.query("commit");
    });
  });
});
