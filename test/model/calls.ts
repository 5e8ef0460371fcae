import type fc from "fast-check";
import type { asked, Drawn } from "./draws.ts";
import { isFinished } from "./life.ts";
import type { Asked, Call, Claim, Job, Outcome, State } from "./state.ts";

/** Where a run stands. */
export interface Scene {
  state: State;
  /** The job of the last call. Half of the calls stay with it, so that much happens to one job. */
  last?: string | undefined;
}

/** What was drawn, about the jobs that there are; null where there is nothing to call about. */
export function callOf(draw: Drawn, scene: Scene): Call | null {
  const { state } = scene;
  if (draw.fn === "enqueue") return { fn: draw.fn, job: placed(scene, [draw.asked])[0] as Asked };
  if (draw.fn === "enqueue_many") return { fn: draw.fn, jobs: placed(scene, namesOnce(draw.many)) };
  if ("places" in draw) {
    const ids =
      state.born === 0 ? [] : [...new Set(draw.places.map((each) => nameAt(state, each)))];
    if (draw.fn !== "claim") return { fn: draw.fn, ids } as Call;
    return { fn: draw.fn, kinds: draw.kinds, limit: draw.limit, except: ids };
  }
  if (draw.fn === "grant_credits" || draw.fn === "credits") return draw;
  if (draw.fn === "pause" || draw.fn === "resume") return draw;
  if (draw.fn === "reap" || draw.fn === "prune") return { fn: draw.fn };
  if (draw.fn === "has_due_work") return { fn: draw.fn, kinds: [draw.kind] };
  if (draw.fn === "pass") return passing(draw.place, draw.what, scene);
  return state.born === 0 ? null : about(draw, scene);
}

const nameAt = (state: State, at: number) => `j${(at % state.born) + 1}`;

function choose(jobs: Job[], at: number, last: string | undefined): Job | undefined {
  const same = at % 2 === 1 ? jobs.find(({ id }) => id === last) : undefined;
  return same ?? jobs[Math.floor(at / 4) % jobs.length];
}

/** The jobs that a call may do something to. */
const fitting: Record<string, (job: Job) => boolean> = {
  cancel: (job) => !isFinished(job),
  claim_job: ({ status }) => status === "queued",
  run_now: ({ status }) => status === "queued",
  retry: ({ status }) => status === "failed" || status === "cancelled",
  refund: ({ money }) => money === "captured" || money === "refunded",
};

/** Mostly one that fits the call, and every fourth any, even one that is gone. */
function idAt({ state, last }: Scene, at: number, fits: (job: Job) => boolean): string {
  const jobs = Object.values(state.jobs).filter(fits);
  const chosen = at % 4 === 0 ? undefined : choose(jobs, at, last);
  return chosen?.id ?? nameAt(state, at);
}

/** Mostly of a running job, and every fourth stale; also of jobs that have ended or are gone. */
function claimAt(scene: Scene, { place, isStale }: { place: number; isStale: boolean }): Claim {
  const id = idAt(scene, place, ({ status }) => status === "running");
  const generation = scene.state.jobs[id]?.generation ?? 1;
  return { id, generation: Math.max(0, generation - (isStale ? 1 : 0)) };
}

function about(draw: Drawn, scene: Scene): Call | null {
  if (draw.fn === "outcome") {
    const { action, ...rest } = { ...draw.outcome, ...claimAt(scene, draw.claim) };
    return { fn: action, ...rest } as Call;
  }
  if (draw.fn === "finish_many") {
    const outcomes = draw.outcomes.map((each) => ({
      ...each.outcome,
      ...claimAt(scene, each.claim),
    }));
    const once = new Map(outcomes.map((each) => [each.id, each]));
    const { fn, byExchange } = draw;
    return { fn, byExchange, outcomes: [...once.values()] as Outcome[] };
  }
  if ("claim" in draw) {
    const { fn, name, word } = draw;
    const own = claimAt(scene, draw.claim);
    return { ...own, ...{ fn, name, value: word, progress: word } } as Call;
  }
  if (!("place" in draw)) return null;
  const { place: at, ...rest } = draw;
  return { ...rest, id: idAt(scene, at, fitting[draw.fn] ?? (() => true)) } as Call;
}

/** Time passes only for what is awaited. */
function passing(at: number, what: string, { state, last }: Scene): Call | null {
  const name = Object.keys(state.once)[at % Math.max(1, Object.keys(state.once).length)];
  if (what === "once") return name === undefined ? null : { fn: "pass", id: name, what };
  const jobs = Object.values(state.jobs).filter((job) => !isFinished(job));
  const job = choose(jobs, at, last);
  if (job === undefined) return null;
  const awaited = {
    run_after: !job.due,
    start_by: job.status === "queued" && job.startBy === "ahead",
    lease_until: job.lease === "ahead",
    timeout_at: job.timeout === "ahead",
  };
  const open = Object.entries(awaited).filter(([, isAhead]) => isAhead);
  const [next] = open[at % open.length] ?? [];
  return next === undefined ? null : ({ fn: "pass", id: job.id, what: next } as Call);
}

/** Each with a priority that no other job has. */
function placed(
  scene: Scene,
  many: (typeof asked extends fc.Arbitrary<infer T> ? T : never)[],
): Asked[] {
  const taken = new Set(Object.values(scene.state.jobs).map(({ priority }) => priority));
  return many.map(({ money, once, ...job }) => {
    let { priority } = job;
    while (taken.has(priority)) priority += 7;
    taken.add(priority);
    const options = "onConflict" in money ? conflicting(scene, money, job.key) : money;
    return { ...job, ...options, ...(once === undefined ? {} : { once }), priority };
  });
}

/** Mostly with the key of a job that may be replaced, or run again. */
function conflicting(
  { state, last }: Scene,
  { onConflict, place: at }: { onConflict: "replace" | "rerun"; place: number },
  key: string | undefined,
): Partial<Asked> {
  const free = Object.values(state.jobs).filter(
    (job) => job.key !== null && job.cost === null && !isFinished(job),
  );
  const holder = at % 4 === 0 ? undefined : choose(free, at, last);
  if (holder === undefined) return key === undefined ? {} : { onConflict };
  const { kind, key: held, owner } = holder;
  return { onConflict, kind, key: held as string, owner: owner ?? undefined } as Partial<Asked>;
}

/** Which of two in one call a name goes to, the order of keys decides. */
function namesOnce<T extends { once: string | undefined }>(many: T[]): T[] {
  return many.map((each, nth) => {
    const isFirst = many.findIndex(({ once }) => once === each.once) === nth;
    return isFirst ? each : { ...each, once: undefined };
  });
}
