import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const lost = { held: false, lease_until: null, cancel_requested: false, busy: false };
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

describe.each(backends)("extend on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, enqueue, running, job, changes, events, span, age, session } = fixture;
  const held = {
    held: true,
    lease_until: expect.stringMatching(iso),
    cancel_requested: false,
    busy: false,
  };

  test("renews the lease by the claim's own length", async () => {
    const id = await running({}, 60_000);
    await age(id, 30_000);
    const { answer, changed } = await changes(id, () => call("extend", id, 1));
    expect(answer).toEqual(held);
    expect(changed).toEqual({ lease_until: new Date(answer.lease_until) });
    expect(await span(id, "lease_until - clock_timestamp()")).toBeGreaterThan(55_000);
    expect(await span(id, "lease_until - clock_timestamp()")).toBeLessThanOrEqual(60_000);
    expect(await events(id)).toEqual([]);
  });

  test("renews it by another length, once", async () => {
    const id = await running({}, 60_000);
    await call("extend", id, 1, 500_000);
    expect(await span(id, "lease_until - claimed_at")).toBeGreaterThanOrEqual(500_000);
    await call("extend", id, 1);
    expect(await span(id, "lease_until - claimed_at")).toBeLessThan(500_000);
    expect(await job(id)).toMatchObject({ lease_ms: 60_000 });
  });

  test("never renews it beyond timeout_at", async () => {
    const id = await running({}, 60_000, 90_000);
    const { timeout_at } = await job(id);
    const answer = await call("extend", id, 1, 2_147_483_647);
    expect(answer).toEqual({ ...held, lease_until: expect.any(String) });
    expect(new Date(answer.lease_until)).toEqual(timeout_at);
    await age(id, 100_000);
    expect(await call("extend", id, 1)).toMatchObject({ held: true });
    expect(await span(id, "timeout_at - lease_until")).toBe(0);
    await call("reap");
    expect(await job(id)).toMatchObject({ status: "queued", last_error_code: "TIMEOUT" });
    expect(await call("extend", id, 1)).toEqual(lost);
  });

  test("keeps progress, and null leaves the last one", async () => {
    const id = await running();
    await call("extend", id, 1, null, { step: 1 });
    expect((await job(id)).progress).toEqual({ step: 1 });
    await call("extend", id, 1);
    expect((await job(id)).progress).toEqual({ step: 1 });
    await call("extend", id, 1, null, "50");
    expect((await job(id)).progress).toBe(50);
    expect(await call("status", id)).toMatchObject({ progress: 50 });
    await call("fail", id, 1, {}, false, 0);
    expect((await job(id)).progress).toBe(50);
  });

  test("tells of a requested cancel, and goes on holding", async () => {
    const id = await running();
    await call("cancel", id);
    expect(await call("extend", id, 1)).toEqual({ ...held, cancel_requested: true });
    expect((await job(id)).status).toBe("running");
  });

  test("is held after the lease ran out, as long as nobody reaped", async () => {
    const id = await running({}, 1000);
    await age(id, 10_000);
    expect(await call("extend", id, 1)).toEqual(held);
    expect(await call("reap")).toBe(0);
    expect(await span(id, "lease_until - clock_timestamp()")).toBeGreaterThan(0);
  });

  test("is not held after a reap, a new claim or an end", async () => {
    const id = await running({}, 1000);
    await age(id, 2000);
    await call("reap");
    for (const act of [
      async () => undefined,
      () => rows("claim_job", id),
      () => call("complete", id, 2),
    ]) {
      await act();
      const { answer, changed } = await changes(id, () => call("extend", id, 1, 5000, { a: 1 }));
      expect([answer, changed]).toEqual([lost, {}]);
    }
    expect(await call("extend", id, 2)).toEqual(lost);
  });

  test("leaves an event where it was refused", async () => {
    const id = await running();
    await call("release", id, 1);
    await rows("claim_job", id);
    await call("extend", id, 1);
    expect((await events(id)).at(-1)).toEqual({
      event: "refused",
      generation: 1,
      detail: { action: "extend", status: "running", generation: 2 },
    });
  });

  test("is not held for an unknown job, a queued one, or another generation", async () => {
    expect(await call("extend", "00000000-0000-7000-8000-000000000000", 1)).toEqual(lost);
    expect(await call("extend", null, null)).toEqual(lost);
    expect(await call("extend", await enqueue(), 0)).toEqual(lost);
    const id = await running();
    for (const generation of [0, 2, -1, null]) {
      expect(await call("extend", id, generation)).toEqual(lost);
    }
  });

  test.each([
    [[0], "LH002", "p_lease_ms is 0"],
    [[-1], "LH002", "p_lease_ms is -1"],
    [
      [null, JSON.stringify("x".repeat(1_048_576))],
      "LH004",
      "p_progress has 1048578 bytes, more than 1048576",
    ],
  ])("refuses a bad value and changes nothing: %.40j", async (values, code, message) => {
    const id = await running();
    const { changed } = await changes(id, () =>
      expect(call("extend", id, 1, ...values)).rejects.toMatchObject({ code, message }),
    );
    expect(changed).toEqual({});
  });

  test.runIf(backend === "postgres")(
    "says busy where somebody holds the row, and waits for nobody",
    async () => {
      const id = await running({}, 60_000);
      await session(async (own) => {
        await own.query("begin");
        await own.call("guard", id, 1);
        const { answer, changed } = await changes(id, () => call("extend", id, 1, 5000, { a: 1 }));
        expect([answer, changed]).toEqual([{ ...held, busy: true }, {}]);
        expect(new Date(answer.lease_until)).toEqual((await job(id)).lease_until);
        expect(await call("extend", id, 2)).toEqual(lost);
        await own.query("commit");
      });
      expect(await call("extend", id, 1)).toEqual(held);
    },
  );
});
