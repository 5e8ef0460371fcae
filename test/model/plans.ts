import type { Part, Plan } from "./spaces.ts";
import type { Asked } from "./state.ts";

const free: Omit<Asked, "priority"> = { kind: "k", payload: "first", key: "a", maxAttempts: 2 };
const paid: Omit<Asked, "priority"> = { ...free, cost: 1, account: "ann" };
const started: Omit<Asked, "priority"> = { ...free, startWithin: true };

export interface Named {
  name: string;
  plan: Plan;
  /** How many states it has, and how many steps lead from all of them. */
  size: { states: number; steps: number };
}

/** The spaces of each test run. */
export const plans: Named[] = [
  {
    name: "a job that is replaced and runs again, with steps and a start_by",
    plan: { jobs: 1, asked: started, has: ["rerun", "steps", "operator", "bulk"] },
    size: { states: 165, steps: 4930 },
  },
  {
    name: "a job that costs credits, with releases, timeouts and refunds",
    plan: {
      ...{ jobs: 1, asked: paid, credits: 1 },
      has: ["delays", "releases", "timeout", "refund", "pause", "bulk"],
    },
    size: { states: 238, steps: 7318 },
  },
  {
    name: "two jobs with one key and credits for one of them",
    plan: { jobs: 2, asked: paid, credits: 1, has: [] },
    size: { states: 701, steps: 14687 },
  },
];

const allOfOne: Part[] = [
  ...(["delays", "releases", "rerun", "steps", "timeout", "pause"] as const),
  ...(["operator", "bulk"] as const),
];

/** Wider ones, for a change to what they are about. */
export const widePlans: Named[] = [
  {
    name: "a job with all that can be done with it",
    plan: { jobs: 1, asked: started, has: allOfOne },
    size: { states: 804, steps: 30414 },
  },
  {
    name: "two jobs with one key, credits for both, and refunds",
    plan: { jobs: 2, asked: paid, credits: 2, has: ["refund", "bulk", "operator"] },
    size: { states: 3183, steps: 118190 },
  },
  {
    name: "two jobs that cost credits, each with its own key",
    plan: { jobs: 2, asked: paid, credits: 2, ownKeys: true, has: [] },
    size: { states: 4119, steps: 89358 },
  },
];
