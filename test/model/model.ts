import { byId, enqueueMany, inLockOrder, retryMany } from "./bulk.ts";
import { books, grant, refund } from "./credits.ts";
import { enqueue, refusal, retry, visible } from "./entry.ts";
import {
  accept,
  claimed,
  isClaimable,
  isExpired,
  isFinished,
  isPaused,
  move,
  queue,
  reap,
  renew,
  start,
} from "./life.ts";
import type { Call, Job, State } from "./state.ts";

/**
 * leasehold in short, to be read beside the documentation of the functions: what each call answers, and
 * what it leaves. Every decision stands here once more, and independently of the SQL. Not in it: locks
 * (one call after the other), the order within one priority, texts of errors, and ledgers elsewhere.
 */
export function apply(state: State, call: Call): { state: State; answer: unknown } {
  const next = structuredClone(state);
  const answer = (functions[call.fn] as (state: State, call: Call) => unknown)(next, call);
  return { state: next, answer };
}

type Functions = { [F in Call["fn"]]: (state: State, call: Extract<Call, { fn: F }>) => unknown };

const functions = {
  enqueue: (state, { job }) => enqueue(state, job),
  enqueue_many: (state, { jobs }) => enqueueMany(state, jobs),
  claim: (state, { kinds, limit, except = [] }) => {
    const ours = Object.values(state.jobs).filter(({ kind }) => kinds.includes(kind));
    for (const job of ours) reap(state, job);
    const due = ours.filter((job) => isClaimable(state, job) && !except.includes(job.id));
    return due
      .sort((a, b) => a.priority - b.priority)
      .slice(0, limit)
      .map(start);
  },
  claim_job: (state, { id }) => {
    const job = state.jobs[id];
    reap(state, job);
    return job !== undefined && isClaimable(state, job) ? [start(job)] : [];
  },
  extend: (state, call) => {
    const job = claimed(state, call);
    if (job === undefined) return { held: false, cancel_requested: false, busy: false };
    renew(job);
    job.progress = call.progress ?? job.progress;
    return { held: true, cancel_requested: job.cancelRequested, busy: false };
  },
  complete: (state, call) => accept(state, { action: "complete", ...call }) !== null,
  fail: (state, call) => accept(state, { action: "fail", ...call }),
  release: (state, call) => accept(state, { action: "release", ...call }) !== null,
  finish_many: (state, { outcomes }) => {
    const ends = outcomes.map((each) => ({ id: each.id, status: accept(state, each) }));
    const refused = ends.filter(({ status }) => status === null);
    const done = byId(ends.filter(({ status }) => status !== null));
    return { done, refused: refused.map(({ id }) => id).sort(), busy: [] };
  },
  guard: (state, call) => (claimed(state, call) ? null : { error: "LH001" }),
  // The first value of a name stays.
  step_save: (state, call) => {
    const job = claimed(state, call);
    if (job === undefined) return false;
    job.steps[call.name] ??= call.value;
    renew(job);
    return true;
  },
  status: (state, { id, owner }) => {
    const job = visible(state, id, owner);
    reap(state, job);
    return job === undefined ? null : statusOf(job);
  },
  cancel: (state, { id, owner }) => cancel(state, id, owner),
  retry: (state, { id, owner }) => retry(state, id, owner),
  cancel_many: (state, { ids }) => cancelMany(state, ids),
  retry_many: (state, { ids }) => retryMany(state, ids),
  run_now: (state, { id }) => {
    const job = state.jobs[id];
    if (job?.status !== "queued") {
      const outcome = job === undefined ? "unknown" : "wrong_status";
      return { outcome, id: job?.id ?? null, status: job?.status ?? null };
    }
    queue(job, true);
    return { outcome: "due", id, status: "queued" };
  },
  remove: (state, { id }) => remove(state, id),
  reap: (state) => Object.values(state.jobs).filter((job) => reap(state, job)).length,
  prune: (state) => {
    const finished = Object.values(state.jobs).filter(isFinished);
    for (const { id } of finished) delete state.jobs[id];
    return { deleted: finished.length };
  },
  has_due_work: (state, { kinds }) =>
    Object.values(state.jobs).some(
      (job) =>
        (kinds === undefined || kinds.includes(job.kind)) &&
        !isPaused(state, job) &&
        (isExpired(job) || isClaimable(state, job)),
    ),
  pause: (state, { kind }) => {
    const isNew = !state.paused.includes(kind);
    if (isNew) state.paused = [...state.paused, kind].sort();
    return isNew;
  },
  resume: (state, { kind }) => {
    const wasPaused = state.paused.includes(kind);
    state.paused = state.paused.filter((each) => each !== kind);
    return wasPaused;
  },
  credits: (state, { account }) => books(state, account),
  grant_credits: (state, { account, amount, reference }) =>
    grant(state, account, amount, reference),
  refund: (state, { id, amount, reference }) => refund(state, id, amount, reference),
  pass: (state, { id, what }) => pass(state, id, what),
} satisfies Functions;

function cancel(state: State, id: string, owner?: string) {
  const job = visible(state, id, owner);
  if (job === undefined) return { outcome: "unknown", status: null };
  reap(state, job);
  if (isFinished(job)) return { outcome: "finished", status: job.status };
  if (job.status === "queued") {
    return { outcome: "cancelled", status: move(state, job, "cancelled") };
  }
  job.cancelRequested = true;
  return { outcome: "requested", status: "running" };
}

function cancelMany(state: State, ids: string[]) {
  const unknown = ids.filter((id) => !state.jobs[id]).map((id) => ({ id, outcome: "unknown" }));
  const answers = inLockOrder(state, ids).map(({ id }) => ({ id, ...cancel(state, id) }));
  const count = (outcome: string) => answers.filter((each) => each.outcome === outcome).length;
  const late = answers.filter(({ outcome }) => outcome === "finished");
  const skipped = late.map(({ id, outcome }) => ({ id, outcome }));
  const counts = { cancelled: count("cancelled"), requested: count("requested") };
  return { ...counts, skipped: byId([...unknown, ...skipped]) };
}

/** What the person who waits is told. */
function noticeOf({ status, cancelRequested, started, money }: Job): string {
  if (status === "running" && cancelRequested) return "cancelling";
  if (status === "queued" && started) return "retrying";
  return status === "queued" || status === "running" || money === null
    ? status
    : `${status}_${money}`;
}

function statusOf(job: Job) {
  const { id, kind, status, attempts, maxAttempts, generation, progress, result } = job;
  const { error, cancelRequested, money } = job;
  const notice = noticeOf(job);
  return {
    ...{ id, kind, status, attempts, max_attempts: maxAttempts, generation, progress, result },
    ...{ error_code: error, cancel_requested: cancelRequested, money, notice },
  };
}

function remove(state: State, id: string) {
  const job = state.jobs[id];
  if (job === undefined) return refusal("unknown");
  if (!isFinished(job)) return { outcome: "wrong_status", id, status: job.status };
  delete state.jobs[id];
  return { outcome: "removed", id, status: job.status };
}

function pass(state: State, id: string, what: string): null {
  const job = state.jobs[id];
  if (what === "once") delete state.once[id];
  if (job === undefined) return null;
  if (what === "run_after" || what === "start_by") job.due = true;
  if (what === "start_by") job.startBy = "passed";
  if (what === "lease_until" || what === "timeout_at") job.lease = "passed";
  if (what === "timeout_at") job.timeout = "passed";
  return null;
}
