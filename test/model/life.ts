import { settle } from "./credits.ts";
import type { Claim, Job, Outcome, State, Status } from "./state.ts";

/** The model of a job's life: from one status to the next. */

export const isFinished = (job: Job) => job.status !== "queued" && job.status !== "running";

/** Whether anyone may reap it. */
export const isExpired = (job: Job) =>
  job.status === "running"
    ? job.lease === "passed"
    : job.status === "queued" && (job.attempts >= job.maxAttempts || job.startBy === "passed");

/** The job of a claim, if that is valid: running, and under its own generation. The clock has no say. */
export function claimed(state: State, { id, generation }: Claim): Job | undefined {
  const job = state.jobs[id];
  return job?.status === "running" && job.generation === generation ? job : undefined;
}

export const unfinishedOf = (state: State, kind: string, key: string | null) =>
  Object.values(state.jobs).find(
    (job) => key !== null && job.kind === kind && job.key === key && !isFinished(job),
  );

export function queue(job: Job, due: boolean): void {
  job.status = "queued";
  job.due = due;
  job.startBy = job.startWithin ? "ahead" : null;
  job.lease = null;
  job.timeout = null;
}

/** A requested cancel turns all but completed into cancelled; a pending rerun what is left into queued. */
export function move(state: State, job: Job, to: Status, due = true): Status {
  if (job.status === "running" && to === "completed") job.completedUnder = job.generation;
  if (job.rerun !== null && !job.cancelRequested) {
    Object.assign(job, { payload: job.rerun, rerun: null, run: job.run + 1, steps: {} });
    restart(job, to === "queued" ? job.due && due : job.due);
    return "queued";
  }
  job.rerun = null;
  if (to === "queued" && !job.cancelRequested) queue(job, due);
  else {
    job.status = job.cancelRequested && to !== "completed" ? "cancelled" : to;
    job.lease = null;
    settle(state, job);
  }
  return job.status;
}

export function restart(job: Job, due: boolean): void {
  queue(job, due);
  Object.assign(job, { attempts: 0, releases: 0, budgetReleases: 0, started: false });
  Object.assign(job, { progress: null, result: null });
}

/** Ends or requeues a job that anyone may reap. */
export function reap(state: State, job: Job | undefined): boolean {
  if (job === undefined || !isExpired(job)) return false;
  const exhausted = job.attempts >= job.maxAttempts;
  if (job.status === "running") job.error = job.timeout === "passed" ? "TIMEOUT" : "LEASE_EXPIRED";
  else job.error = exhausted ? "ATTEMPTS_EXHAUSTED" : "NOT_STARTED";
  job.budgetReleases = 0;
  move(state, job, job.status === "running" && !exhausted ? "queued" : "failed", job.due);
  return true;
}

export function start(job: Job): Partial<Job> {
  job.status = "running";
  job.attempts++;
  job.generation++;
  job.started = true;
  job.lease = "ahead";
  job.timeout = "ahead";
  const { id, kind, key, owner, payload, attempts, maxAttempts, generation } = job;
  const { releases, budgetReleases } = job;
  return {
    ...{ id, kind, key, owner, payload, attempts, maxAttempts, generation },
    ...{ releases, budgetReleases },
  };
}

export const isClaimable = (state: State, job: Job) =>
  job.status === "queued" && job.due && !isExpired(job) && !isPaused(state, job);

export const isPaused = (state: State, job: Job) => state.paused.includes(job.kind);

// The outcomes of a claim

export function finish(state: State, job: Job, outcome: Outcome): Status {
  if (outcome.action === "complete") {
    job.budgetReleases = 0;
    job.result = outcome.result ?? null;
    return move(state, job, "completed");
  }
  job.error = outcome.code ?? job.error;
  if (outcome.action === "fail") {
    job.budgetReleases = 0;
    const ends = outcome.permanent === true || job.attempts >= job.maxAttempts;
    return move(state, job, ends ? "failed" : "queued", !outcome.delayed);
  }
  job.attempts--;
  job.releases++;
  job.budgetReleases = outcome.code === "BUDGET_EXCEEDED" ? job.budgetReleases + 1 : 0;
  return move(state, job, "queued", !outcome.delayed);
}

/** The status that an outcome led to, at its repetition too; null where it is refused. */
export function accept(state: State, outcome: Outcome): Status | null {
  const job = claimed(state, outcome);
  if (job !== undefined) return finish(state, job, outcome);
  const done = state.jobs[outcome.id];
  const repeated = outcome.action === "complete" && done?.completedUnder === outcome.generation;
  return repeated && done.generation === outcome.generation ? done.status : null;
}

/** Never beyond the timeout. */
export function renew(job: Job): void {
  job.lease = job.timeout;
}
