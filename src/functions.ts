/**
 * The SQL functions that the client calls: their argument names (public API, the same in every
 * language) and the types that their text form is cast to. A test compares this table with the
 * installed schema.
 */
export const argumentTypes = {
  define_kind: { p_kind: "text", p_defaults: "jsonb" },
  enqueue: { p_kind: "text", p_payload: "jsonb", p_options: "jsonb" },
  enqueue_many: { p_jobs: "jsonb" },
  claim: {
    p_kinds: "text[]",
    p_limit: "int",
    p_lease_ms: "int",
    p_worker: "text",
    p_timeout_ms: "int",
    p_except: "uuid[]",
    p_after: "jsonb",
  },
  claim_job: { p_id: "uuid", p_lease_ms: "int", p_worker: "text", p_timeout_ms: "int" },
  extend: { p_id: "uuid", p_generation: "int", p_lease_ms: "int", p_progress: "jsonb" },
  extend_many: { p_claims: "jsonb" },
  complete: { p_id: "uuid", p_generation: "int", p_result: "jsonb" },
  fail: {
    p_id: "uuid",
    p_generation: "int",
    p_error: "jsonb",
    p_permanent: "boolean",
    p_retry_after_ms: "int",
  },
  release: { p_id: "uuid", p_generation: "int", p_retry_after_ms: "int", p_error_code: "text" },
  finish_many: { p_outcomes: "jsonb" },
  finish_and_claim: {
    p_completed: "uuid[]",
    p_generations: "int[]",
    p_results: "jsonb",
    p_outcomes: "jsonb",
    p_kinds: "text[]",
    p_limit: "int",
    p_worker: "text",
    p_after: "jsonb",
  },
  guard: { p_id: "uuid", p_generation: "int" },
  status: { p_id: "uuid", p_owner: "text" },
  cancel: { p_id: "uuid", p_owner: "text" },
  retry: { p_id: "uuid", p_owner: "text" },
  retry_many: { p_filter: "jsonb" },
  cancel_many: { p_filter: "jsonb" },
  list: { p_filter: "jsonb" },
  run_now: { p_id: "uuid" },
  remove: { p_id: "uuid" },
  reap: { p_limit: "int" },
  prune: { p_options: "jsonb" },
  pause: { p_kind: "text" },
  resume: { p_kind: "text" },
  stats: {},
  has_due_work: { p_kinds: "text[]" },
  every: { p_name: "text", p_interval_ms: "int" },
  kinds: {},
  workers: {},
  worker_beat: { p_id: "uuid", p_state: "jsonb" },
  worker_echo: { p_token: "text" },
  worker_recover: { p_worker: "text", p_kinds: "text[]", p_known: "uuid[]" },
  worker_stop: { p_id: "uuid" },
  step_load: { p_id: "uuid", p_name: "text" },
  step_names: { p_id: "uuid" },
  step_save: {
    p_id: "uuid",
    p_generation: "int",
    p_name: "text",
    p_value: "jsonb",
    p_lease_ms: "int",
  },
  cache_begin: { p_key: "text", p_lease_ms: "int" },
  cache_put: { p_key: "text", p_token: "uuid", p_value: "jsonb", p_ttl_ms: "int" },
  cache_drop: { p_key: "text", p_token: "uuid" },
  grant_credits: { p_account: "text", p_amount: "bigint", p_reference: "text" },
  refund: { p_job_id: "uuid", p_amount: "bigint", p_reference: "text" },
  credits: { p_account: "text" },
  entries: { p_account: "text", p_limit: "int", p_before: "bigint" },
  verify_credits: {},
  verify: {},
  alerts: { p_limit: "int", p_before: "bigint" },
  claim_alerts: { p_limit: "int", p_lease_ms: "int" },
  finish_alerts: { p_ids: "bigint[]" },
  schema_version: {},
} as const satisfies Record<string, Record<string, string>>;

export type FunctionName = keyof typeof argumentTypes;

/** The functions that answer rows; all others answer one value. */
export function isRowFunction(name: FunctionName): boolean {
  return name === "claim" || name === "claim_job" || name === "finish_and_claim";
}
