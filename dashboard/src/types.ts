/** Answers of the SQL functions; see docs/sql.md. */

export type Status = "queued" | "running" | "completed" | "failed" | "cancelled";
export const statuses: readonly Status[] = [
  "queued",
  "running",
  "completed",
  "failed",
  "cancelled",
];

export interface Job {
  readonly id: string;
  readonly kind: string;
  readonly key: string | null;
  readonly owner: string | null;
  readonly status: Status;
  readonly priority: number;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly generation: number;
  readonly releases: number;
  readonly run: number;
  readonly worker: string | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly cancel_requested: boolean;
  readonly money: string | null;
  readonly cost: number | null;
  readonly account: string | null;
  readonly external: boolean;
  readonly run_after: string;
  readonly start_by: string | null;
  readonly lease_until: string | null;
  readonly timeout_at: string | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly claimed_at: string | null;
  readonly finished_at: string | null;
}

export interface JobsPage {
  readonly jobs: readonly Job[];
  readonly next: string | null;
}

export interface Counts {
  readonly counts: Readonly<Record<Status, number>>;
  readonly looked_at: number;
  readonly complete: boolean;
}

export interface JobEvent {
  readonly id: number;
  readonly at: string;
  readonly event: string;
  readonly generation: number | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly detail: Readonly<Record<string, unknown>> | null;
}

export interface Hold {
  readonly run: number;
  readonly account: string;
  readonly amount: number;
  readonly state: "held" | "captured" | "given_back";
  readonly created_at: string;
  readonly ended_at: string | null;
}

export interface Inspected {
  readonly at: string;
  readonly job: Job;
  readonly payload: unknown;
  readonly progress: unknown;
  readonly result: unknown;
  readonly rerun: unknown;
  readonly lease_ms: number | null;
  readonly trace_context: Readonly<Record<string, string>> | null;
  readonly expired: boolean;
  readonly holder: { readonly id: string; readonly status: Status } | null;
  readonly events: readonly JobEvent[];
  readonly steps: readonly { name: string; generation: number; saved_at: string }[];
  readonly holds: readonly Hold[];
  readonly refunded: number;
}

export interface Overview {
  readonly at: string;
  readonly limit: number;
  readonly due: number;
  readonly waiting: number;
  readonly running: number;
  readonly expired: number;
  readonly oldest_due_ms: number | null;
  readonly failed: number;
  readonly paused: readonly string[];
  readonly alerts: { readonly open: number; readonly critical: number };
  readonly workers: number;
  readonly ended: {
    readonly from: string;
    readonly part_ms: number;
    readonly estimated: boolean;
    readonly completed: readonly number[];
    readonly failed: readonly number[];
    readonly cancelled: readonly number[];
  };
  readonly drains: readonly { trigger: string; at: string; report: unknown }[];
}

export interface Kind {
  readonly kind: string;
  readonly paused_at: string | null;
  readonly workers: number;
  readonly max_attempts: number | null;
  readonly backoff_ms: readonly number[] | null;
  readonly lease_ms: number | null;
  readonly timeout_ms: number | null;
}

export interface Timing {
  readonly kind: string;
  readonly sample: number;
  readonly failed: number;
  readonly run_p50_ms: number | null;
  readonly run_p95_ms: number | null;
  readonly run_max_ms: number | null;
  readonly wait_p50_ms: number | null;
  readonly wait_p95_ms: number | null;
  readonly lease_ms: number | null;
  readonly last_finished_at: string | null;
}

export interface Kinds {
  readonly kinds: readonly Kind[];
  readonly timings: readonly Timing[];
}

export interface Account {
  readonly account: string;
  readonly available: number;
  readonly held: number;
}

export interface AccountPage {
  readonly credits: Account;
  readonly entries: readonly {
    readonly id: number;
    readonly at: string;
    readonly kind: string;
    readonly available_delta: number;
    readonly held_delta: number;
    readonly job_id: string | null;
    readonly reference: string | null;
  }[];
  readonly next: number | null;
  readonly holds: {
    readonly holds: readonly { job_id: string; run: number; amount: number; created_at: string }[];
    readonly more: boolean;
  };
}

export interface Check {
  readonly ok: boolean;
  readonly violations: readonly {
    readonly rule: string;
    readonly account: string | null;
    readonly job_id: string | null;
    readonly detail: unknown;
  }[];
}

export interface Worker {
  readonly id: string;
  readonly name: string;
  readonly kinds: readonly string[];
  readonly concurrency: number;
  readonly running: number;
  readonly idle: boolean;
  readonly idle_since: string | null;
  readonly listening: boolean;
  readonly started_at: string;
  readonly seen_at: string;
}

export interface Alert {
  readonly id: number;
  readonly at: string;
  readonly severity: "warning" | "critical";
  readonly code: string;
  readonly job_id: string | null;
  readonly message: string;
  readonly detail: unknown;
  readonly told_at: string | null;
  readonly acknowledged_at: string | null;
  readonly acknowledged_by: string | null;
}
