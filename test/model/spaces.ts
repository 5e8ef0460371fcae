import type { Space, Step, World } from "./explore.ts";
import { isFinished } from "./life.ts";
import { apply } from "./model.ts";
import type { Asked, Call, Claim, Job } from "./state.ts";

/** What the calls of a space are about. */
export interface Plan {
  /** How many jobs there may be at a time. */
  jobs: number;
  asked: Omit<Asked, "priority">;
  /** Each job has a key of its own, else all have the same. */
  ownKeys?: boolean;
  /** The first credits of the account. */
  credits?: number;
  /** What may happen beside the plain life of a job; each makes more states, or more steps. */
  has: Part[];
}

export type Part =
  | "delays"
  | "releases"
  | "steps"
  | "rerun"
  | "pause"
  | "timeout"
  | "refund"
  | "operator"
  | "bulk";

export function spaceOf(plan: Plan): Space {
  const account = plan.asked.account ?? "ann";
  const start: Call[] = [];
  if (plan.credits)
    start.push({ fn: "grant_credits", account, amount: plan.credits, reference: "first" });
  start.push({ fn: "enqueue", job: { ...plan.asked, priority: 0 } });
  return { start, steps: (world) => stepsOf(plan, world) };
}

function stepsOf(plan: Plan, world: World): Step[] {
  const jobs = Object.values(world.state.jobs);
  const calls: Call[] = [
    ...jobs.flatMap((job) => [...callsAbout(plan, job), ...passing(plan, job)]),
    ...enqueues(plan, world),
    { fn: "reap" },
    { fn: "prune" },
  ];
  if (plan.has.includes("operator")) calls.push({ fn: "has_due_work" });
  if (plan.has.includes("pause"))
    calls.push({ fn: "pause", kind: plan.asked.kind }, { fn: "resume", kind: plan.asked.kind });
  return [
    ...calls.map((call) => ({ call })),
    ...[0, 1].flatMap((worker) => work(plan, world, worker)),
  ];
}

/** What a worker may do: claim, and all that a claim allows, however stale it is. */
function work(plan: Plan, { state, workers }: World, worker: number): Step[] {
  const claim = workers[worker];
  const jobs = plan.has.includes("operator") ? Object.keys(state.jobs) : [];
  const calls: Call[] = [
    { fn: "claim", kinds: [plan.asked.kind], limit: 1 },
    ...jobs.map((id) => ({ fn: "claim_job" as const, id })),
    ...(claim ? underClaim(plan, claim) : []),
  ];
  return calls.map((call) => ({ call, worker }));
}

function underClaim({ has }: Plan, claim: Claim): Call[] {
  const calls: Call[] = [
    { fn: "extend", progress: "some", ...claim },
    { fn: "complete", result: "done", ...claim },
    { fn: "fail", code: "BROKEN", delayed: has.includes("delays"), ...claim },
    { fn: "fail", code: "GONE", permanent: true, ...claim },
    { fn: "guard", ...claim },
  ];
  if (has.includes("bulk")) {
    const completes = [{ action: "complete" as const, ...claim }];
    calls.push({ fn: "finish_many", outcomes: completes });
    calls.push({ fn: "finish_many", outcomes: completes, byExchange: true });
    calls.push({ fn: "finish_many", outcomes: [{ action: "fail", code: "BROKEN", ...claim }] });
  }
  if (has.includes("releases")) {
    // The one that is counted comes first: a state is what it was when it was first reached.
    calls.push(
      { fn: "release", code: "BUDGET_EXCEEDED", ...claim },
      { fn: "release", delayed: has.includes("delays"), ...claim },
    );
    if (has.includes("bulk"))
      calls.push({ fn: "finish_many", outcomes: [{ action: "release", code: "LATER", ...claim }] });
  }
  if (has.includes("steps"))
    for (const value of ["saved", "again"])
      calls.push({ fn: "step_save", name: "first", value, ...claim });
  return calls;
}

/** The poller's and the operator's calls. */
function callsAbout({ has }: Plan, { id }: Job): Call[] {
  const calls: Call[] = [
    { fn: "status", id },
    { fn: "cancel", id },
    { fn: "retry", id },
    { fn: "remove", id },
  ];
  if (has.includes("operator")) calls.push({ fn: "run_now", id });
  if (has.includes("refund"))
    for (const reference of ["sorry", "once more"])
      calls.push({ fn: "refund", id, amount: 1, reference });
  return calls;
}

/** One more where there is room, and where there is none what meets a holder of the key. */
function enqueues({ jobs, asked, ownKeys, has }: Plan, { state }: World): Call[] {
  const born = Object.values(state.jobs);
  const free = [...Array(jobs).keys()].filter(
    (each) => !born.some(({ priority }) => priority === each),
  );
  const place = free[0] ?? 0;
  const job = { ...asked, priority: place, key: ownKeys ? `${asked.key}${place}` : asked.key };
  const isHeld = born.some((each) => each.key === job.key && !isFinished(each));
  const calls: Call[] = [{ fn: "enqueue", job: job as Asked }];
  if (isHeld && has.includes("rerun")) {
    const fresh = { ...job, payload: "newer" } as Asked;
    calls.push({ fn: "enqueue", job: { ...fresh, onConflict: "replace" } });
    calls.push({ fn: "enqueue", job: { ...fresh, onConflict: "rerun" } });
  }
  return calls.filter((call) => Object.keys(apply(state, call).state.jobs).length <= jobs);
}

/** Time passes for one job: what it waits for is over, in any order. */
function passing({ has }: Plan, job: Job): Call[] {
  const { id } = job;
  const calls: Call[] = [];
  if (job.status === "queued" && !job.due) calls.push({ fn: "pass", id, what: "run_after" });
  if (job.status === "queued" && job.startBy === "ahead")
    calls.push({ fn: "pass", id, what: "start_by" });
  if (job.lease === "ahead") calls.push({ fn: "pass", id, what: "lease_until" });
  if (has.includes("timeout") && job.status === "running" && job.timeout === "ahead")
    calls.push({ fn: "pass", id, what: "timeout_at" });
  return calls;
}
