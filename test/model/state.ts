/**
 * What the model knows of leasehold: the rows, without ids, times and texts. A moment that the clock is
 * compared with is only `ahead` or `passed`.
 */
export type Moment = "ahead" | "passed";
export type Status = "queued" | "running" | "completed" | "failed" | "cancelled";

export interface Job {
  id: string;
  kind: string;
  key: string | null;
  owner: string | null;
  payload: string;
  /** Lower first. Two jobs of a test never have the same, so that a claim has one right answer. */
  priority: number;
  status: Status;
  attempts: number;
  maxAttempts: number;
  generation: number;
  releases: number;
  budgetReleases: number;
  run: number;
  /** Whether run_after has come. */
  due: boolean;
  /** Whether it has a start_within_ms. */
  startWithin: boolean;
  startBy: Moment | null;
  started: boolean;
  lease: Moment | null;
  timeout: Moment | null;
  cancelRequested: boolean;
  rerun: string | null;
  /** The generation whose complete was accepted: its repetition answers true until the next claim. */
  completedUnder: number | null;
  error: string | null;
  progress: string | null;
  result: string | null;
  steps: Record<string, string>;
  money: "held" | "captured" | "given_back" | "refunded" | null;
  cost: number | null;
  account: string | null;
}

/** The hold of a job's last run. It outlives the job. */
export interface Hold {
  account: string;
  amount: number;
  state: "held" | "captured" | "given_back";
  /** What was refunded of the capture, by reference. */
  refunds: Record<string, number>;
}

export interface State {
  /** In the order of their births. */
  jobs: Record<string, Job>;
  /** How many were ever created: the next is `j<born + 1>`. */
  born: number;
  /** What each account has available. */
  accounts: Record<string, number>;
  /** The grants of each account, by reference. */
  grants: Record<string, Record<string, number>>;
  holds: Record<string, Hold>;
  /** The first job under a name, by kind, owner and name. */
  once: Record<string, string>;
  paused: string[];
}

export const nothing: State = {
  ...{ jobs: {}, born: 0, accounts: {}, grants: {}, holds: {}, once: {}, paused: [] },
};

/** What an enqueue asks for. */
export interface Asked {
  kind: string;
  payload: string;
  priority: number;
  maxAttempts: number;
  key?: string;
  owner?: string;
  onConflict?: "replace" | "rerun";
  once?: string;
  cost?: number;
  account?: string;
  delayed?: boolean;
  startWithin?: boolean;
}

/** A claim as its worker remembers it; it may be stale. */
export interface Claim {
  id: string;
  generation: number;
}

export type Outcome = Claim &
  (
    | { action: "complete"; result?: string }
    | { action: "fail"; code: string; permanent?: boolean; delayed?: boolean }
    | { action: "release"; code?: string; delayed?: boolean }
  );

/** One call of one function; `delayed` asks for a delay that does not pass by itself. */
export type Call =
  | { fn: "enqueue"; job: Asked }
  | { fn: "enqueue_many"; jobs: Asked[] }
  | { fn: "claim"; kinds: string[]; limit: number; except?: string[] }
  | { fn: "claim_job"; id: string }
  | ({ fn: "extend"; progress?: string } & Claim)
  | ({ fn: "complete"; result?: string } & Claim)
  | ({ fn: "fail"; code: string; permanent?: boolean; delayed?: boolean } & Claim)
  | ({ fn: "release"; code?: string; delayed?: boolean } & Claim)
  | { fn: "finish_many"; outcomes: Outcome[]; byExchange?: boolean }
  | ({ fn: "guard" } & Claim)
  | ({ fn: "step_save"; name: string; value: string } & Claim)
  | { fn: "status" | "cancel" | "retry"; id: string; owner?: string }
  | { fn: "cancel_many" | "retry_many"; ids: string[] }
  | { fn: "run_now" | "remove"; id: string }
  | { fn: "reap" | "prune" }
  | { fn: "has_due_work"; kinds?: string[] }
  | { fn: "pause" | "resume"; kind: string }
  | { fn: "credits"; account: string }
  | { fn: "grant_credits"; account: string; amount: number; reference: string }
  | { fn: "refund"; id: string; amount: number; reference: string }
  /** Time passes: what it names is over. */
  | { fn: "pass"; id: string; what: "run_after" | "lease_until" | "timeout_at" | "start_by" }
  | { fn: "pass"; id: string; what: "once" };
