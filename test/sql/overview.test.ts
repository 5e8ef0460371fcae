import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0);

describe.each(backends)("overview on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, rows, query, value, enqueue, running, age } = fixture;

  test("of an empty queue", async () => {
    const none = Array.from({ length: 60 }, () => 0);
    expect(await call("overview")).toEqual({
      ...{ at, limit: 10_000, due: 0, waiting: 0, running: 0, expired: 0, oldest_due_ms: null },
      ...{ failed: 0, paused: [], alerts: { open: 0, critical: 0 }, workers: 0, drains: [] },
      ended: {
        ...{ from: at, to: at, part_ms: 1_440_000, estimated: false },
        ...{ completed: none, failed: none, cancelled: none },
      },
    });
  });

  test("counts what is due, waits, runs and may be reaped, in all kinds and priorities", async () => {
    await age(await enqueue(), 60_000);
    await enqueue({ priority: -5 });
    await call("enqueue", "another", "{}", { priority: 7 });
    await enqueue({ delay_ms: 60_000 });
    await call("enqueue", "another", "{}", { delay_ms: 60_000 });
    await age(await enqueue({ start_within_ms: 1000 }), 2000); // due, and expired
    await running();
    await age(await running({}, 1000), 2000);
    await call("pause", "k");
    const shown = await call("overview");
    expect(shown).toMatchObject({ due: 4, waiting: 2, running: 2, expired: 2, paused: ["k"] });
    expect(shown.oldest_due_ms).toBeGreaterThanOrEqual(60_000);
    expect(shown.oldest_due_ms).toBeLessThan(120_000);
  });

  test("counts up to its limit", async () => {
    const insert = (from: number, to: number, kind: string, after: string) =>
      query(`insert into leasehold.jobs (id, kind, run_after)
        select gen_random_uuid(), '${kind}', ${after} from generate_series(${from}, ${to})`);
    await insert(1, 6_000, "a", "now()");
    await insert(1, 6_000, "b", "now()");
    await insert(1, 10_001, "c", "now() + interval '1 day'");
    expect(await call("overview")).toMatchObject({ limit: 10_000, due: 10_000, waiting: 10_000 });
  });

  test("counts what ended in the period, each in its part", async () => {
    const ended = async (end: (id: string) => Promise<unknown>, msAgo: number) => {
      const id = await running();
      await end(id);
      await age(id, msAgo);
    };
    const complete = (id: string) => call("complete", id, 1);
    const minutes = 60_000;
    await ended(complete, 0.5 * minutes);
    await ended(complete, 1.5 * minutes);
    await ended(complete, 1.5 * minutes);
    await ended((id) => call("fail", id, 1, {}, true), 59.5 * minutes);
    await ended(async (id) => {
      await call("cancel", id);
      await call("fail", id, 1, {});
    }, 30.5 * minutes);
    await ended(complete, 61 * minutes);
    await ended((id) => call("fail", id, 1, {}, true), 61 * minutes);
    const { failed, ended: shown } = await call("overview", 60 * minutes);
    expect(failed).toBe(1);
    expect(shown).toMatchObject({ part_ms: minutes, estimated: false });
    expect(Date.parse(shown.to) - Date.parse(shown.from)).toBe(60 * minutes);
    const filled = (parts: number[]) =>
      parts.flatMap((jobs, part) => (jobs > 0 ? [[part, jobs]] : []));
    expect(filled(shown.completed)).toEqual([
      [58, 2],
      [59, 1],
    ]);
    expect(filled(shown.failed)).toEqual([[0, 1]]);
    expect(filled(shown.cancelled)).toEqual([[29, 1]]);
    expect((await call("overview")).failed).toBe(2);
  });

  test("of a large table reads a sample, and says so", async () => {
    // Ten to a page.
    await query(`insert into leasehold.jobs (id, kind, status, attempts, finished_at, last_error_message)
      select gen_random_uuid(), 'k', 'completed', 1, now() - interval '1 hour', repeat(md5(n::text), 24)
      from generate_series(1, 20000) n`);
    const { ended } = await call("overview");
    expect(ended.estimated).toBe(true);
    expect(sum(ended.completed)).toBeGreaterThan(10_000);
    expect(sum(ended.completed)).toBeLessThan(30_000);
  });

  test("refuses a period that is too short or too long", async () => {
    for (const period of [59_999, 2_678_400_001]) {
      await expect(call("overview", period)).rejects.toMatchObject({ code: "LH002" });
    }
  });

  test("shows alerts until somebody has acknowledged them", async () => {
    await query(`insert into leasehold.alerts (at, severity, code, message) values
      (now(), 'warning', 'RELEASED_TEN_TIMES', 'm'), (now(), 'critical', 'MONEY_UNKNOWN', 'm')`);
    const { alerts } = await call("alerts");
    const [critical, warning] = alerts.map(({ id }: { id: number }) => id);
    expect((await call("overview")).alerts).toEqual({ open: 2, critical: 1 });
    expect(await call("acknowledge_alerts", [critical], "ann")).toBe(1);
    expect((await call("overview")).alerts).toEqual({ open: 1, critical: 0 });
    expect(await call("alerts", 100, null, true)).toMatchObject({ alerts: [{ id: warning }] });
    expect((await call("alerts")).alerts).toMatchObject([
      { id: critical, acknowledged_at: at, acknowledged_by: "ann" },
      { id: warning, acknowledged_at: null, acknowledged_by: null },
    ]);
    // The first one stays.
    expect(await call("acknowledge_alerts", [critical, warning, 0], "bob")).toBe(1);
    expect((await call("alerts")).alerts).toMatchObject([
      { acknowledged_by: "ann" },
      { acknowledged_by: "bob" },
    ]);
    await expect(call("acknowledge_alerts", [1], " ")).rejects.toMatchObject({ code: "LH002" });
  });

  test("shows the last drain of each trigger", async () => {
    await call("note_drain", "webhook", { processed: 1 });
    await call("note_drain", "cron", { processed: 0 });
    await call("note_drain", "cron", { processed: 2 });
    expect((await call("overview")).drains).toEqual([
      { trigger: "cron", at, report: { processed: 2 } },
      { trigger: "webhook", at, report: { processed: 1 } },
    ]);
  });

  test("forgets the triggers that were not heard of for longest", async () => {
    await query(`insert into leasehold.drains (trigger, at, report)
      select 't' || n, now() - n * interval '1 s', '{}' from generate_series(1, 100) n`);
    await call("note_drain", "new", {});
    expect(await value("select count(*) from leasehold.drains")).toBe(100);
    expect(await rows("overview")).toHaveLength(1);
    expect(
      await value("select count(*) from leasehold.drains where trigger in ('new', 't99')"),
    ).toBe(2);
  });

  test.each([
    [" ", {}, "LH002"],
    ["t".repeat(101), {}, "LH002"],
    ["t", "x".repeat(1_048_577), "LH004"],
  ])("note_drain refuses what is no trigger or no report", async (trigger, report, code) => {
    const given = JSON.stringify(report);
    await expect(call("note_drain", trigger, given)).rejects.toMatchObject({ code });
  });
});

describe.each(backends)("timings on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, query, running, age } = fixture;

  /** Jobs that waited and ran for so long, the oldest first. */
  async function took(kind: string, seconds: { wait: number; run: number; status?: string }[]) {
    for (const [n, { wait, run, status = "completed" }] of seconds.entries()) {
      await query(
        `insert into leasehold.jobs (id, kind, status, attempts, lease_ms, run_after, claimed_at, finished_at)
         select gen_random_uuid(), $1, $2, 1, 30000 + $5, t, t + $3 * interval '1 s', t + ($3 + $4) * interval '1 s'
         from (select now() - interval '1 hour' + $5 * interval '1 s' as t) t`,
        [kind, status, wait, run, n],
      );
    }
  }

  test("tells how long jobs waited and ran, per kind", async () => {
    await took("k", [
      { wait: 1, run: 10 },
      { wait: 3, run: 20 },
      { wait: 5, run: 30 },
      { wait: 7, run: 500, status: "failed" },
    ]);
    await took("another", [{ wait: 0, run: 1, status: "cancelled" }]);
    expect(await call("timings")).toEqual({
      at,
      kinds: [
        {
          ...{ kind: "another", sample: 1, failed: 0, lease_ms: 30_000, last_finished_at: at },
          ...{ run_p50_ms: null, run_p95_ms: null, run_max_ms: null },
          ...{ wait_p50_ms: 0, wait_p95_ms: 0 },
        },
        {
          ...{ kind: "k", sample: 4, failed: 1, lease_ms: 30_000, last_finished_at: at },
          ...{ run_p50_ms: 20_000, run_p95_ms: 29_000, run_max_ms: 30_000 },
          ...{ wait_p50_ms: 4000, wait_p95_ms: 6700 },
        },
      ],
    });
  });

  test("out of the last that ended", async () => {
    await took("k", [
      { wait: 0, run: 900 },
      { wait: 0, run: 1000 },
      { wait: 0, run: 1001 },
    ]);
    expect((await call("timings", 2)).kinds).toMatchObject([{ sample: 2, run_p50_ms: 1_000_500 }]);
    for (const sample of [0, 1001]) {
      await expect(call("timings", sample)).rejects.toMatchObject({ code: "LH002" });
    }
  });

  test("says nothing of jobs that were never claimed, or have not ended", async () => {
    await age(await running(), 1000);
    await call("cancel", await fixture.enqueue());
    expect((await call("timings")).kinds).toMatchObject([
      { kind: "k", sample: 1, run_p50_ms: null, wait_p50_ms: null, lease_ms: null },
    ]);
  });
});
