import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import { backends } from "../support/databases.ts";
import { json, useDatabase } from "./support/calls.ts";

const unknown = "00000000-0000-7000-8000-000000000000";

describe.each(backends)("durable steps on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running, job, changes, events, span, age, count } = fixture;
  const save = (id: string, generation: number | null, name: string | null, value: unknown = 1) =>
    call("step_save", id, generation, name, value === null ? null : json(value));

  describe("step_save", () => {
    test("stores a value for step_load, under the job and the name", async () => {
      const [id, other] = [await running(), await running()];
      expect(await save(id, 1, "charge", { ok: [1, "two"] })).toBe(true);
      expect(await save(other, 1, "charge", 2)).toBe(true);
      expect(await call("step_load", id, "charge")).toEqual({ ok: [1, "two"] });
      expect(await call("step_load", other, "charge")).toBe(2);
      expect(await call("step_load", id, "Charge")).toBeNull();
      expect(await call("step_load", unknown, "charge")).toBeNull();
      expect(await call("step_load", null, null)).toBeNull();
      expect(await query("select * from leasehold.steps where job_id = $1", [id])).toEqual([
        {
          ...{ job_id: id, name: "charge", value: { ok: [1, "two"] }, generation: 1 },
          saved_at: expect.any(Date),
        },
      ]);
      expect(await events(id)).toEqual([]);
    });

    test("the first value of a name stays", async () => {
      const id = await running();
      await save(id, 1, "a", "first");
      expect(await save(id, 1, "a", "second")).toBe(true);
      await call("fail", id, 1, {}, false, 0);
      await rows("claim_job", id);
      expect(await save(id, 2, "a", "third")).toBe(true);
      expect(await call("step_load", id, "a")).toBe("first");
      expect(await query("select generation from leasehold.steps")).toEqual([{ generation: 1 }]);
    });

    test("stores null as JSON's null, which step_load tells from nothing", async () => {
      const id = await running();
      await save(id, 1, "none", null);
      await call("step_save", id, 1, "json", "null");
      const loaded = `select leasehold.step_load($1, 'none') is null as none,
        leasehold.step_load($1, 'json') is null as json, leasehold.step_load($1, 'x') is null as missing`;
      expect(await query(loaded, [id])).toEqual([{ none: false, json: false, missing: true }]);
      expect(await call("step_names", id)).toEqual(["none", "json"]);
    });

    test("renews the lease, by the claim's own length or another", async () => {
      const id = await running({}, 60_000);
      await age(id, 30_000);
      const { changed } = await changes(id, () => save(id, 1, "a"));
      expect(changed).toEqual({ lease_until: expect.any(Date) });
      expect(await span(id, "lease_until - clock_timestamp()")).toBeGreaterThan(50_000);
      await call("step_save", id, 1, "b", "1", 500_000);
      expect(await span(id, "lease_until - claimed_at")).toBeGreaterThanOrEqual(500_000);
      expect(await job(id)).toMatchObject({ lease_ms: 60_000 });
    });

    test("never renews it beyond timeout_at, and never to an earlier end", async () => {
      const id = await running({}, 60_000, 90_000);
      await call("step_save", id, 1, "a", "1", 2_147_483_647);
      expect(await span(id, "timeout_at - lease_until")).toBe(0);
      const { changed } = await changes(id, () => call("step_save", id, 1, "b", "1", 1));
      expect(changed).toEqual({});
    });

    test("is accepted after the lease ran out, as long as nobody reaped", async () => {
      const id = await running({}, 1000);
      await age(id, 60_000);
      expect(await save(id, 1, "a")).toBe(true);
      expect(await call("reap")).toBe(0);
      expect(await call("step_names", id)).toEqual(["a"]);
    });

    test("is refused after a reap, a new claim or an end, and leaves an event", async () => {
      const id = await running({}, 1000);
      await age(id, 2000);
      await call("reap");
      for (const act of [
        async () => undefined,
        () => rows("claim_job", id),
        () => call("complete", id, 2),
      ]) {
        await act();
        const { answer, changed } = await changes(id, () => save(id, 1, "a"));
        expect([answer, changed]).toEqual([false, {}]);
        const { status, generation } = await job(id);
        expect((await events(id)).at(-1)).toEqual({
          ...{ event: "refused", generation: 1 },
          detail: { action: "step_save", status, generation },
        });
      }
      expect(await save(id, 2, "a")).toBe(false);
      expect(await count("steps")).toBe(0);
    });

    test("is refused for an unknown job, a queued one, or another generation", async () => {
      expect(await save(unknown, 1, "a")).toBe(false);
      expect(await save(await enqueue(), 0, "a")).toBe(false);
      const id = await running();
      for (const generation of [0, 2, -1, null])
        expect(await save(id, generation, "a")).toBe(false);
      expect(await count("steps")).toBe(0);
    });

    test("takes a name of 500 bytes and a value of 1 MB", async () => {
      const id = await running();
      const name = "é".repeat(250);
      expect(await save(id, 1, name, "x".repeat(1_048_574))).toBe(true);
      expect(await call("step_load", id, name)).toHaveLength(1_048_574);
    });

    test.each([
      [["", "1"], "LH002", /^p_name is ''/],
      [[" ", "1"], "LH002", /^p_name is ' '/],
      [[null, "1"], "LH002", "p_name is null"],
      [["a\nb", "1"], "LH002", /^p_name is /],
      [[`${"é".repeat(250)}x`, "1"], "LH002", /^p_name is /],
      [["a", "1", 0], "LH002", "p_lease_ms is 0"],
      [["a", json("x".repeat(1_048_575))], "LH004", "p_value has 1048577 bytes, more than 1048576"],
    ])("refuses %.40j and changes nothing", async (values, code, message) => {
      const id = await running();
      const { changed } = await changes(id, () =>
        expect(call("step_save", id, 1, ...values)).rejects.toMatchObject({
          code,
          message: typeof message === "string" ? message : expect.stringMatching(message),
        }),
      );
      expect([changed, await count("steps")]).toEqual([{}, 0]);
    });
  });

  test("step_names lists what is stored, in the order in which it was", async () => {
    const id = await running();
    expect(await call("step_names", id)).toEqual([]);
    for (const name of ["b", "a#2", "a"]) {
      await ageAll(fixture.db, "steps", 1000);
      await save(id, 1, name);
    }
    await save(await running(), 1, "another job's");
    expect(await call("step_names", id)).toEqual(["b", "a#2", "a"]);
    expect(await call("step_names", unknown)).toEqual([]);
    expect(await call("step_names", null)).toEqual([]);
  });

  describe("what becomes of them", () => {
    /** A job that has saved a step under its first claim, and one beside it whose step stays. */
    const stepped = async (options: object = {}) => {
      await save(await running(), 1, "beside");
      const id = await running(options, 60_000);
      await save(id, 1, "a", "done");
      return id;
    };
    const kept = (id: string) => call("step_names", id);

    test.each<[string, (id: string) => Promise<unknown>]>([
      ["a failure", (id) => call("fail", id, 1, {})],
      ["a release", (id) => call("release", id, 1)],
      ["a reap", (id) => age(id, 61_000).then(() => call("reap"))],
      ["the last failure", (id) => call("fail", id, 1, {}, true)],
      ["completion", (id) => call("complete", id, 1)],
      ["a retry", (id) => call("fail", id, 1, {}, true).then(() => call("retry", id))],
      ["an enqueue that met a conflict", () => call("enqueue", "k", "{}", { key: "x" })],
    ])("they are kept through %s", async (_, act) => {
      const id = await stepped({ key: "x" });
      await act(id);
      expect(await kept(id)).toEqual(["a"]);
    });

    test.each<[string, (id: string) => Promise<unknown>]>([
      ["remove", (id) => call("complete", id, 1).then(() => call("remove", id))],
      ["prune", (id) => call("complete", id, 1).then(() => call("prune", { older_than_ms: 0 }))],
      ["a rerun", (id) => asked("rerun").then(() => call("complete", id, 1))],
      ["a rerun of what failed", (id) => asked("rerun").then(() => call("fail", id, 1, {}, true))],
      [
        "a replace of a holder that had run",
        (id) => call("release", id, 1).then(() => asked("replace")),
      ],
    ])("they go with %s, and nobody else's do", async (_, act) => {
      const id = await stepped({ key: "x" });
      await act(id);
      expect(await kept(id)).toEqual([]);
      expect(await query("select name from leasehold.steps")).toEqual([{ name: "beside" }]);
    });

    const asked = (on_conflict: string) =>
      call("enqueue", "k", '{"new": true}', { key: "x", on_conflict });
  });
});
