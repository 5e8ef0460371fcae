import { expect } from "vitest";
import { type Calls, json } from "./calls.ts";

/**
 * Calls every public function, through a small queue's whole life, and checks each answer. Needs an
 * empty queue and no right but to execute the functions. Answers the names of what it called.
 */
export async function tour({ call, rows }: Pick<Calls, "call" | "rows">): Promise<Set<string>> {
  const names = new Set<string>();
  const calls: Pick<Calls, "call" | "rows"> = {
    call: (name, ...values) => call(names.add(name) && name, ...values),
    rows: (name, ...values) => rows(names.add(name) && name, ...values),
  };
  await defineAndEnqueue(calls);
  await beat(calls);
  await work(calls);
  await cache(calls);
  await money(calls);
  await operate(calls);
  return names;
}

type Tour = (calls: Pick<Calls, "call" | "rows">) => Promise<void>;

const defineAndEnqueue: Tour = async ({ call }) => {
  expect(await call("schema_version")).toMatchObject({ version: expect.any(Number) });
  const defaults = { max_attempts: 4, backoff_ms: [0], lease_ms: 60_000, retain_ms: 1000 };
  expect(await call("define_kind", "k", defaults)).toBe(true);
  const options = { key: "a", owner: "ann", once: "o", priority: -1, start_within_ms: 60_000 };
  const first = await call("enqueue", "k", '{"v": 1}', options);
  expect(first).toMatchObject({ outcome: "created", status: "queued" });
  expect(await call("enqueue", "k", "{}", options)).toMatchObject({ outcome: "duplicate" });
  const jobs = [
    { kind: "k", key: "a", owner: "ann", on_conflict: "replace", payload: { v: 2 } },
    { kind: "k", key: "b", run_after: "2020-01-01T00:00:00Z" },
    { kind: "k", once: "p", delay_ms: 3_600_000 },
    { kind: "k", key: "a" },
  ];
  const answers = await call("enqueue_many", json(jobs));
  expect(answers).toMatchObject([
    { outcome: "replaced", id: first.id },
    { outcome: "created" },
    { outcome: "created" },
    { outcome: "conflict", holder: { id: null, status: "queued" } },
  ]);
  expect(await call("pause", "k")).toBe(true);
  expect(await call("has_due_work", ["k"])).toBe(false);
  expect(await call("resume", "k")).toBe(true);
  expect(await call("has_due_work")).toBe(true);
  expect(await call("stats")).toMatchObject({ kinds: [{ kind: "k", queued: 3, due: 2 }] });
  expect(await call("measures")).toMatchObject({ kinds: [{ kind: "k", waiting: 1, due: 2 }] });
};

const worker = "0198a000-0000-7000-8000-000000000001";

const beat: Tour = async ({ call }) => {
  const state = { name: "w", kinds: ["k"], concurrency: 2, idle: true, listening: true };
  const answer = { due: true, next_ms: null, idle_workers: 1 };
  expect(await call("worker_beat", worker, state)).toEqual(answer);
  await call("worker_echo", "there?");
  expect(await call("worker_recover", "nobody", ["k"], [])).toBe(0);
  expect(await call("kinds")).toMatchObject({
    kinds: [{ kind: "k", max_attempts: 4, workers: 1 }],
  });
};

const work: Tour = async ({ call, rows }) => {
  const [a, b] = await rows("claim", ["k", "none"], 2);
  expect([a, b]).toMatchObject([
    { key: "a", owner: "ann", payload: { v: 2 }, attempts: 1, generation: 1 },
    { key: "b", run_after: "2020-01-01T00:00:00.000000Z", max_attempts: 4 },
  ]);
  expect(await call("extend", a?.id, 1, null, { step: 1 })).toMatchObject({ held: true });
  const claims = json([{ id: a?.id, generation: 1, lease_ms: 60_000 }]);
  expect(await call("extend_many", claims)).toMatchObject([{ id: a?.id, held: true }]);
  expect(await call("step_save", a?.id, 1, "s", { n: 1 })).toBe(true);
  expect(await call("step_load", a?.id, "s")).toEqual({ n: 1 });
  expect(await call("step_names", a?.id)).toEqual(["s"]);
  await call("guard", a?.id, 1);
  await expect(call("guard", a?.id, 2)).rejects.toMatchObject({ code: "LH001" });
  expect(await call("complete", a?.id, 1, { ok: true })).toBe(true);
  expect(await call("complete", a?.id, 2)).toBe(false);
  expect(await call("status", a?.id, "ann")).toMatchObject({ status: "completed" });
  expect(await call("status", a?.id, "bob")).toBeNull();
  expect(await call("fail", b?.id, 1, { code: "X", message: "m" })).toBe("queued");
  expect(await rows("claim_job", b?.id)).toMatchObject([{ generation: 2 }]);
  expect(await call("release", b?.id, 2, 3_600_000, "LATER")).toBe(true);
  expect(await call("run_now", b?.id)).toMatchObject({ outcome: "due" });
  expect(await rows("claim_job", b?.id, 1)).toMatchObject([{ generation: 3 }]);
  let reaped = 0;
  while (reaped === 0) reaped = await call("reap");
  expect(await call("status", b?.id)).toMatchObject({ error_code: "LEASE_EXPIRED" });
  expect(await rows("claim", ["k"])).toMatchObject([{ id: b?.id, generation: 4 }]);
  const [, again] = await rows("finish_and_claim", [], [], null, null, ["k"], 1);
  expect(again).toBeUndefined();
  const outcome = { id: b?.id, action: "fail", error: { code: "Y" }, permanent: true };
  const outcomes = json([{ ...outcome, generation: 4 }]);
  expect(await call("finish_many", outcomes)).toEqual({
    ...{ done: [{ id: b?.id, status: "failed" }], refused: [], busy: [] },
  });
};

const cache: Tour = async ({ call }) => {
  const { token } = await call("cache_begin", "c", 60_000);
  expect(await call("cache_begin", "c", 60_000)).toMatchObject({ state: "wait" });
  expect(await call("cache_put", "c", token, '{"v": 1}', 60_000)).toBe(true);
  expect(await call("cache_begin", "c", 1)).toMatchObject({ state: "hit", value: { v: 1 } });
  expect(await call("cache_drop", "c", token)).toBe(false);
  expect(await call("cache_drop", "c")).toBe(true);
};

const money: Tour = async ({ call, rows }) => {
  expect(await call("grant_credits", "ann", 5, "r")).toMatchObject({ outcome: "granted" });
  const paid = await call("enqueue", "paid", "{}", { cost: 2, account: "ann" });
  const ann = { account: "ann", available: 3, held: 2 };
  expect(await call("credits", "ann")).toEqual(ann);
  expect(await call("accounts")).toEqual({ accounts: [ann], next: null });
  expect(await call("holds", "ann")).toMatchObject({ holds: [{ job_id: paid.id }], more: false });
  await rows("claim_job", paid.id);
  expect(await call("complete", paid.id, 1)).toBe(true);
  expect(await call("refund", paid.id, 2, "r")).toEqual({ outcome: "refunded", available: 5 });
  const { entries } = await call("entries", "ann");
  expect(entries).toMatchObject([{ kind: "refund" }, { kind: "capture" }, { kind: "hold" }, {}]);
  expect(await call("verify_credits")).toEqual({ ok: true, violations: [] });
  expect(await call("verify")).toEqual({ ok: true, count: 0, violations: [] });
  const external = await call("enqueue", "paid", "{}", { external: true });
  await call("cancel", external.id);
  const [look] = await rows("claim", ["leasehold.reconcile"]);
  const gone = { code: "GONE", message: "the ledger is gone" };
  expect(await call("fail", look?.id, 1, gone, true)).toBe("failed");
  expect(await call("status", external.id)).toMatchObject({ money: "unknown" });
  expect(await call("alerts")).toMatchObject({ alerts: [{ code: "MONEY_UNKNOWN" }], next: null });
  const [alert] = await call("claim_alerts");
  expect(alert).toMatchObject({ severity: "critical", job_id: external.id });
  expect(await call("finish_alerts", [alert.id])).toBe(1);
  expect(await call("acknowledge_alerts", [alert.id])).toBe(1);
  for (const id of [paid.id, external.id, look?.id]) await call("remove", id);
};

const operate: Tour = async ({ call }) => {
  const { jobs, next } = await call("list", { kind: "k", status: "failed", limit: 10 });
  expect([jobs, next]).toMatchObject([[{ key: "b", error_code: "Y", generation: 4 }], null]);
  const id = jobs[0].id;
  expect(await call("counts", { kind: "k" })).toMatchObject({ counts: { failed: 1 } });
  expect(await call("inspect", id)).toMatchObject({ job: { id }, expired: false });
  expect(await call("retry", id)).toMatchObject({ outcome: "retried" });
  expect(await call("run_now_many", { ids: [id] })).toEqual({ due: 1, skipped: [] });
  expect(await call("cancel", id)).toEqual({ outcome: "cancelled", status: "cancelled" });
  expect(await call("retry_many", { ids: [id] })).toEqual({ retried: 1, skipped: [] });
  expect(await call("cancel_many", { kind: "k" })).toMatchObject({ cancelled: 2, skipped: [] });
  expect(await call("remove", id)).toMatchObject({ outcome: "removed" });
  expect(await call("remove_many", { kind: "none" })).toEqual({ removed: 0, skipped: [] });
  expect(await call("note_drain", "cron", { processed: 1 })).toBe(true);
  expect(await call("overview")).toMatchObject({ running: 0, drains: [{ trigger: "cron" }] });
  expect(await call("doctor")).toMatchObject({ schema: { unsound: [] }, queue: { running: 0 } });
  expect(await call("timings")).toMatchObject({ kinds: [{ kind: "k" }] });
  expect(await call("prune", { older_than_ms: 0 })).toEqual({ deleted: 2 });
  expect(await call("every", "tick", 3_600_000)).toBe(true);
  expect(await call("every", "tick", 3_600_000)).toBe(false);
  const { workers } = await call("workers");
  expect(workers).toMatchObject([{ id: worker, kinds: ["k"], idle: true, listening: true }]);
  expect(await call("worker_stop", worker)).toBe(true);
};

/** The names of all functions that a user may call. */
export const publicFunctions = `select p.proname as name from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where n.nspname = $1 and p.proname not like '\\_%' order by 1`;
