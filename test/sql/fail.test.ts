import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, useDatabase } from "./support/calls.ts";

const dayMs = 86_400_000;

describe.each(backends)("fail on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, enqueue, running, job, changes, events, span, age } = fixture;
  const failure = { code: "HTTP_503", message: "try again" };
  /** How long the job waits after an attempt that failed, from a moment after the failure. */
  const waitOf = async (id: string) => {
    const at = "(select max(at) from leasehold.job_events e where e.job_id = jobs.id)";
    return span(id, `run_after - ${at}`);
  };

  test("queues the job again after its backoff, and says why", async () => {
    const id = await running({ start_within_ms: 60_000 });
    await call("extend", id, 1, null, { at: 1 });
    const { answer, changed } = await changes(id, () => call("fail", id, 1, failure));
    expect(answer).toBe("queued");
    expect(changed).toEqual({
      status: "queued",
      run_after: expect.any(Date),
      start_by: expect.any(Date),
      lease_until: null,
      timeout_at: null,
      last_error_code: "HTTP_503",
      last_error_message: "try again",
    });
    expect(await span(id, "start_by - run_after")).toBe(60_000);
    expect(await events(id)).toEqual([
      {
        event: "failed",
        generation: 1,
        ...failure,
        detail: { attempt: 1, to: "queued", worker: "w" },
      },
    ]);
    expect(await rows("claim", ["k"])).toEqual([]);
  });

  test("ends the job on its last attempt", async () => {
    const id = await running({ max_attempts: 1 });
    const { answer, changed } = await changes(id, () => call("fail", id, 1, failure, false, 5000));
    expect(answer).toBe("failed");
    expect(changed).toEqual({
      status: "failed",
      lease_until: null,
      finished_at: expect.any(Date),
      last_error_code: "HTTP_503",
      last_error_message: "try again",
    });
    expect(await events(id)).toMatchObject([{ event: "failed", detail: { to: "failed" } }]);
  });

  test("ends the job at once when it is permanent; null is not", async () => {
    const [permanent, not] = [await running(), await running()];
    expect(await call("fail", permanent, 1, failure, true)).toBe("failed");
    expect(await job(permanent)).toMatchObject({ status: "failed", attempts: 1 });
    expect(await call("fail", not, 1, failure, null)).toBe("queued");
  });

  test("ends the job as cancelled where that was requested", async () => {
    for (const permanent of [false, true]) {
      const id = await running();
      await call("cancel", id);
      expect(await call("fail", id, 1, failure, permanent)).toBe("cancelled");
      expect(await job(id)).toMatchObject({
        status: "cancelled",
        finished_at: expect.any(Date),
        last_error_code: "HTTP_503",
      });
    }
  });

  test("backs off 1, 5, 15, 60 minutes and then 60 again, and never less", async () => {
    const id = await running({ max_attempts: 7 });
    for (const [i, minutes] of [1, 5, 15, 60, 60, 60].entries()) {
      expect(await call("fail", id, i + 1, failure)).toBe("queued");
      const waitMs = await waitOf(id);
      expect(waitMs).toBeGreaterThanOrEqual(minutes * 60_000);
      expect(waitMs).toBeLessThanOrEqual(minutes * 60_000 * 1.05 + 1);
      await call("run_now", id);
      await rows("claim_job", id);
    }
    expect(await call("fail", id, 7, failure)).toBe("failed");
  });

  test("S49: what failed together does not come back together, and nothing too early", async () => {
    await call("define_kind", "k", { backoff_ms: [100_000, 7] });
    await call("enqueue_many", json(Array(200).fill({ kind: "k" })));
    await query("select leasehold.claim(array['k'], 200)");
    await query("select leasehold.fail(id, 1, '{}') from leasehold.jobs");
    const waits: number[] = (
      await query(
        `select (extract(epoch from run_after - at) * 1000)::float8 as ms
         from leasehold.jobs j join leasehold.job_events e on e.job_id = j.id`,
      )
    ).map(({ ms }) => ms);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(100_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(105_000);
    expect(new Set(waits).size).toBeGreaterThan(150);
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(3000);
  });

  test("counts its backoff by attempts, which a release does not use up", async () => {
    await call("define_kind", "k", { backoff_ms: [1000, 900_000] });
    const id = await running();
    await call("release", id, 1);
    await rows("claim_job", id);
    await call("fail", id, 2, failure);
    expect(await waitOf(id)).toBeLessThanOrEqual(1051);
  });

  test("takes the delay it is told, exactly, and at most a day", async () => {
    for (const [told, waitMs] of [
      [0, 0],
      [1500, 1500],
      [dayMs, dayMs],
      [dayMs + 1, dayMs],
      [2_147_483_647, dayMs],
    ] as const) {
      const id = await running();
      expect(await call("fail", id, 1, failure, false, told)).toBe("queued");
      expect(await waitOf(id)).toBe(waitMs);
      await call("cancel", id);
    }
  });

  test("is accepted after the lease ran out, and refused after a reap or a new claim", async () => {
    const late = await running({}, 1000);
    await age(late, 2000);
    expect(await call("fail", late, 1, failure)).toBe("queued");
    const id = await running({}, 1000);
    await age(id, 2000);
    await call("reap");
    for (const act of [() => undefined, () => rows("claim_job", id)]) {
      await act();
      const { answer, changed } = await changes(id, () => call("fail", id, 1, failure, true));
      expect([answer, changed]).toEqual([null, {}]);
    }
    expect((await events(id)).at(-1)).toEqual({
      event: "refused",
      generation: 1,
      detail: { action: "fail", status: "running", generation: 2 },
    });
  });

  test("is null for a job that nobody runs, and for its repetition", async () => {
    expect(await call("fail", await enqueue(), 0, failure)).toBeNull();
    expect(await call("fail", "00000000-0000-7000-8000-000000000000", 1, failure)).toBeNull();
    const id = await running();
    await call("fail", id, 1, failure, true);
    expect(await call("fail", id, 1, failure, true)).toBeNull();
  });

  test("cuts a long code and message between characters, not within one", async () => {
    const id = await running();
    const code = `${"c".repeat(99)}\u{1F600}tail`;
    const message = `${"m".repeat(3999)}\u{1F600}tail`;
    await call("fail", id, 1, { code, message });
    expect(await job(id)).toMatchObject({
      last_error_code: `${"c".repeat(99)}\u{1F600}`,
      last_error_message: `${"m".repeat(3999)}\u{1F600}`,
    });
  });

  test("records something of an error that says nothing", async () => {
    for (const [error, code, message] of [
      [{}, "ERROR", "ERROR"],
      [{ code: "", message: "" }, "ERROR", "ERROR"],
      [{ code: null, message: null }, "ERROR", "ERROR"],
      [{ code: "X" }, "X", "X"],
      [{ message: "m" }, "ERROR", "m"],
      [{ code: 42, message: { a: 1 } }, "42", '{"a": 1}'],
    ] as const) {
      const id = await running();
      expect(await call("fail", id, 1, error, true)).toBe("failed");
      expect(await job(id)).toMatchObject({ last_error_code: code, last_error_message: message });
    }
  });

  test("keeps details as they are, and leaves out what is over 64 kB", async () => {
    const [small, large] = [await running(), await running()];
    const details = { a: null, b: [{ c: null }], stack: "x".repeat(60_000) };
    await call("fail", small, 1, { ...failure, details }, true);
    expect((await events(small))[0]?.detail).toEqual({
      ...{ attempt: 1, to: "failed", worker: "w", details },
    });
    await call("fail", large, 1, { ...failure, details: "x".repeat(65_535) }, true);
    expect(await events(large)).toEqual([
      {
        event: "failed",
        generation: 1,
        ...failure,
        detail: { attempt: 1, to: "failed", worker: "w" },
      },
    ]);
  });

  test.each([
    [["null"], "error is null"],
    [[null], "error is null"],
    [['"text"'], 'error is "text"'],
    [["[]"], "error is []"],
    [["{}", false, -1], "retry_after_ms is -1"],
  ])("refuses %j and changes nothing", async (values, message) => {
    const id = await running();
    const { changed } = await changes(id, () =>
      expect(call("fail", id, 1, ...values)).rejects.toMatchObject({ code: "LH002", message }),
    );
    expect(changed).toEqual({});
  });
});
