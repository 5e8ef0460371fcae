import { hold } from "./credits.ts";
import { queue, reap, restart, unfinishedOf } from "./life.ts";
import type { Asked, Job, State } from "./state.ts";

/** The model of how a job gets into the queue: by enqueue, and again by retry. */

const onceName = (job: Asked) => `${job.kind} ${job.owner ?? ""} ${job.once}`;
export const refusal = (outcome: string) => ({ outcome, id: null, status: null });

interface Answer {
  outcome: string;
  id: string | null;
  status: string | null;
}

/** The answer where the name stands for a job already. */
export function duplicate(state: State, asked: Asked): Answer | undefined {
  const id = asked.once === undefined ? undefined : state.once[onceName(asked)];
  if (id === undefined) return undefined;
  return { outcome: "duplicate", id, status: state.jobs[id]?.status ?? null };
}

/** Decided in this order: the name, the key, the money. */
export function enqueue(state: State, asked: Asked): Answer {
  const known = duplicate(state, asked);
  if (known !== undefined) return known;
  reap(state, unfinishedOf(state, asked.kind, asked.key ?? null));
  const holder = unfinishedOf(state, asked.kind, asked.key ?? null);
  const answer = holder === undefined ? create(state, asked) : meet(asked, holder);
  const isIn = ["created", "replaced", "rerun"].includes(answer.outcome);
  if (asked.once !== undefined && isIn) state.once[onceName(asked)] = answer.id as string;
  return answer;
}

export function create(state: State, asked: Asked) {
  const { kind, payload, priority, maxAttempts, startWithin = false } = asked;
  const cost = asked.cost || null;
  const id = `j${state.born + 1}`;
  const job: Job = {
    ...{ id, kind, key: asked.key ?? null, owner: asked.owner ?? null, payload, priority },
    ...{
      status: "queued",
      attempts: 0,
      maxAttempts,
      generation: 0,
      releases: 0,
      budgetReleases: 0,
    },
    ...{ run: 1, due: !asked.delayed, startWithin, startBy: startWithin ? "ahead" : null },
    ...{ started: false, lease: null, timeout: null, cancelRequested: false, rerun: null },
    ...{ completedUnder: null, error: null, progress: null, result: null, steps: {} },
    ...{ money: null, cost, account: asked.account ?? null },
  };
  if (!hold(state, job)) return refusal("insufficient");
  state.jobs[id] = job;
  state.born++;
  return { outcome: "created", id, status: "queued" };
}

/** What becomes of an enqueue whose key is held. */
export function meet(asked: Asked, holder: Job) {
  const ours = holder.owner === (asked.owner ?? null);
  const { id, status } = holder;
  if (ours && holder.cost === null && asked.onConflict && status === "queued") {
    const waits = holder.attempts > 0 || holder.releases > 0;
    holder.payload = asked.payload;
    holder.steps = {};
    queue(holder, !asked.delayed && (holder.due || !waits));
    return { outcome: "replaced", id, status };
  }
  const runsAgain = asked.onConflict === "rerun" && !holder.cancelRequested;
  if (ours && holder.cost === null && runsAgain) {
    holder.rerun = asked.payload;
    holder.due = !asked.delayed;
    return { outcome: "rerun", id, status };
  }
  return { ...refusal("conflict"), holder: { id: ours ? id : null, status } };
}

/** What somebody may know of: all, or what is theirs. */
export const visible = (state: State, id: string, owner?: string): Job | undefined => {
  const job = state.jobs[id];
  return owner === undefined || job?.owner === owner ? job : undefined;
};

/** Everything anew, but generation, last error, steps and the repetition of a complete. */
export function requeue(state: State, job: Job): string {
  if (job.status !== "failed" && job.status !== "cancelled") return "wrong_status";
  reap(state, unfinishedOf(state, job.kind, job.key));
  if (unfinishedOf(state, job.kind, job.key) !== undefined) return "conflict";
  restart(job, true);
  job.run++;
  job.cancelRequested = false;
  return "retried";
}

export function retry(state: State, id: string, owner?: string) {
  if (visible(state, id, owner) === undefined) return refusal("unknown");
  const before = structuredClone(state);
  const job = state.jobs[id] as Job;
  let outcome = requeue(state, job);
  if (outcome === "retried" && !hold(state, job)) {
    outcome = "insufficient";
    Object.assign(state, before);
  }
  return { outcome, id, status: state.jobs[id]?.status };
}
