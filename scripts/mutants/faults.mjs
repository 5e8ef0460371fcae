/**
 * Small faults in the SQL, each of a kind that queues of this sort have had. `from` stands in `file`
 * exactly once; `suite` is where it should be noticed first. A fault that no test notices gets a test.
 */
const generations = [
  {
    fault: "a claim is valid whatever its generation",
    file: "internal/jobs.sql",
    from: "where j.id = p_id and j.generation + 0 = p_generation and j.status || '' = 'running'\n  for no key update;",
    to: "where j.id = p_id and j.status || '' = 'running'\n  for no key update;",
  },
  {
    fault: "the claims of finish_many are valid whatever their generation",
    file: "internal/jobs.sql",
    from: "where j.id = c.id and j.generation + 0 = c.generation and j.status || '' = 'running'",
    to: "where j.id = c.id and j.status || '' = 'running'",
  },
  {
    fault: "a straight completion is accepted from any claim",
    file: "internal/outcomes-many.sql",
    from: "where j.id = o.id and j.generation + 0 = o.generation and j.status || '' = 'running' and j.rerun is null",
    to: "where j.id = o.id and j.status || '' = 'running' and j.rerun is null",
  },
  {
    fault: "extend keeps alive what another has claimed",
    file: "functions/extend.sql",
    from: "where j.id = p_id and j.generation + 0 = p_generation and j.status || '' = 'running'\n  for no key update skip locked;",
    to: "where j.id = p_id and j.status || '' = 'running'\n  for no key update skip locked;",
  },
  {
    fault: "a claim does not count a new generation",
    file: "internal/claim.sql",
    from: "generation = j.generation + 1,",
    to: "generation = greatest(j.generation, 1),",
  },
  {
    fault: "a retry begins at generation 0 again",
    file: "internal/retry.sql",
    from: "status = 'queued', attempts = 0, releases = 0,",
    to: "status = 'queued', generation = 0, attempts = 0, releases = 0,",
  },
  {
    fault: "a release takes the generation back",
    file: "internal/jobs.sql",
    from: "    attempts = p_job.attempts,\n    releases = p_job.releases,",
    to: "    generation = case when p_job.releases > j.releases then j.generation - 1 else j.generation end,\n    attempts = p_job.attempts,\n    releases = p_job.releases,",
  },
  {
    fault: "the repetition of a complete is accepted from any claim",
    file: "internal/outcomes.sql",
    from: "where j.id = p_id and j.generation = p_generation and (j.status = 'completed' or exists (",
    to: "where j.id = p_id and (j.status = 'completed' or exists (",
  },
  {
    fault: "a step is saved under any claim",
    file: "functions/step_save.sql",
    from: "  if v_job.id is null then\n    perform leasehold._refused(p_id, p_generation, 'step_save', v_now);\n    return false;\n  end if;\n",
    to: "",
  },
  {
    fault: "guard lets everyone in",
    file: "functions/guard.sql",
    from: "  if v_job.id is null then",
    to: "  if false then",
  },
  {
    fault: "a lease that ran out makes a claim invalid before anyone reaped it",
    file: "internal/jobs.sql",
    from: "where j.id = p_id and j.generation + 0 = p_generation and j.status || '' = 'running'\n  for no key update;",
    to: "where j.id = p_id and j.generation + 0 = p_generation and j.status || '' = 'running' and j.lease_until > clock_timestamp()\n  for no key update;",
  },
];

const counts = [
  {
    fault: "a claim does not count its attempt",
    file: "internal/claim.sql",
    from: "attempts = j.attempts + 1,",
    to: "attempts = j.attempts,",
  },
  {
    fault: "a release costs an attempt",
    file: "internal/outcomes.sql",
    from: "v_job.attempts := greatest(p_job.attempts - 1, 0);",
    to: "v_job.attempts := p_job.attempts;",
  },
  {
    fault: "the last attempt gets another",
    file: "internal/outcomes.sql",
    from: "when p_permanent or p_job.attempts >= p_job.max_attempts then 'failed'",
    to: "when p_permanent or p_job.attempts > p_job.max_attempts then 'failed'",
  },
  {
    fault: "a permanent failure is tried again",
    file: "internal/outcomes.sql",
    from: "when p_permanent or p_job.attempts >= p_job.max_attempts then 'failed'",
    to: "when p_job.attempts >= p_job.max_attempts then 'failed'",
  },
  {
    fault: "an orphan of the last attempt is tried again",
    file: "internal/reap.sql",
    from: "v_job.status = 'running' and v_job.attempts < v_job.max_attempts then 'queued'",
    to: "v_job.status = 'running' and v_job.attempts <= v_job.max_attempts then 'queued'",
  },
  {
    fault: "a retry keeps its attempts",
    file: "internal/retry.sql",
    from: "status = 'queued', attempts = 0, releases = 0,",
    to: "status = 'queued', releases = 0,",
  },
];

const time = [
  {
    fault: "a lease that has not run out is reaped",
    file: "internal/jobs.sql",
    from: "when 'running' then p_job.lease_until <= p_now",
    to: "when 'running' then p_job.lease_until <= p_now + interval '1 hour'",
  },
  {
    fault: "claims do not reap",
    file: "internal/claim.sql",
    from: "perform leasehold._reap(v_expired, p_now);",
    to: "null;",
  },
  {
    fault: "a lease passes its timeout",
    file: "functions/extend.sql",
    from: "least(v_now + coalesce(p_lease_ms, j.lease_ms) * interval '1 millisecond', j.timeout_at)",
    to: "v_now + coalesce(p_lease_ms, j.lease_ms) * interval '1 millisecond'",
  },
  {
    fault: "a step shortens the lease",
    file: "functions/step_save.sql",
    from: "least(greatest(v_now + coalesce(p_lease_ms, j.lease_ms) * interval '1 millisecond', j.lease_until), j.timeout_at)",
    to: "least(v_now + coalesce(p_lease_ms, j.lease_ms) * interval '1 millisecond', j.timeout_at)",
  },
  {
    fault: "a claim of one kind hands out jobs before run_after",
    file: "internal/claim.sql",
    from: "where j.status = 'queued' and j.kind = p_kind and j.priority = p_priority and j.run_after <= p_now\n",
    to: "where j.status = 'queued' and j.kind = p_kind and j.priority = p_priority\n",
  },
  {
    fault: "a paused kind is claimed",
    file: "internal/claim.sql",
    from: "v_kinds constant text[] := leasehold._unpaused(p_kinds);",
    to: "v_kinds constant text[] := p_kinds;",
  },
  {
    fault: "jobs past start_by are never ended",
    file: "internal/jobs.sql",
    from: "when 'queued' then p_job.attempts >= p_job.max_attempts or (p_job.start_by is not null and p_job.start_by <= p_now)",
    to: "when 'queued' then p_job.attempts >= p_job.max_attempts",
  },
  {
    fault: "a retry keeps the old start_by",
    file: "internal/retry.sql",
    from: "run_after = p_now, start_by = leasehold._start_by(p_now, j.start_within_ms, p_now),",
    to: "run_after = p_now,",
  },
];

const endings = [
  {
    fault: "a requested cancel is forgotten by a failure",
    file: "internal/jobs.sql",
    from: "case when v_cancel and p_to <> 'completed' then 'cancelled' else p_to end",
    to: "p_to",
  },
  {
    fault: "a requested cancel undoes a completion",
    file: "internal/jobs.sql",
    from: "case when v_cancel and p_to <> 'completed' then 'cancelled' else p_to end",
    to: "case when v_cancel then 'cancelled' else p_to end",
  },
  {
    fault: "a rerun survives a requested cancel",
    file: "internal/jobs.sql",
    from: "if p_job.rerun is not null and not v_cancel then",
    to: "if p_job.rerun is not null then",
  },
  {
    fault: "a rerun keeps the steps of the run before",
    file: "internal/jobs.sql",
    from: "  delete from leasehold.steps s where s.job_id = p_job.id;\n",
    to: "",
  },
  {
    fault: "a retry remembers the cancel",
    file: "internal/retry.sql",
    from: "cancel_requested_at = null, progress = null,",
    to: "progress = null,",
  },
  {
    fault: "completed jobs may be retried",
    file: "internal/retry.sql",
    from: "when p_job.status not in ('failed', 'cancelled') then 'wrong_status'",
    to: "when p_job.status not in ('failed', 'cancelled', 'completed') then 'wrong_status'",
  },
  {
    fault: "remove deletes unfinished jobs",
    file: "functions/remove.sql",
    from: "elsif v_job.status in ('queued', 'running') then",
    to: "elsif v_job.status in ('running') then",
  },
  {
    fault: "a foreign owner may cancel",
    file: "internal/cancel.sql",
    from: "select j.* into v_job from leasehold.jobs j\n  where j.id = p_id and (p_owner is null or j.owner = p_owner) for no key update;",
    to: "select j.* into v_job from leasehold.jobs j\n  where j.id = p_id for no key update;",
  },
  {
    fault: "an orphan keeps its key for ever",
    file: "internal/enqueue.sql",
    from: "if found and leasehold._expired(v_holder, p_now) then",
    to: "if false then",
  },
  {
    fault: "a replaced job keeps its old payload",
    file: "internal/enqueue.sql",
    from: "update leasehold.jobs j set payload = p_job.payload, run_after = v_run_after,",
    to: "update leasehold.jobs j set run_after = v_run_after,",
  },
];

const money = [
  {
    fault: "a failed job keeps its hold",
    file: "internal/jobs.sql",
    from: "when p_job.money = 'held' and p_to in ('failed', 'cancelled') then 'given_back'",
    to: "when p_job.money = 'held' and p_to in ('cancelled') then 'given_back'",
  },
  {
    fault: "a give-back reaches no account",
    file: "internal/credits.sql",
    from: "if p_state = 'given_back' and not p_later then",
    to: "if false then",
  },
  {
    fault: "the give-backs of many are paid once only",
    file: "internal/credits.sql",
    from: "sum((r ->> 'amount')::bigint)::bigint as amount",
    to: "max((r ->> 'amount')::bigint)::bigint as amount",
  },
  {
    fault: "a capture also gives back",
    file: "internal/credits.sql",
    from: "if p_state = 'given_back' and not p_later then",
    to: "if not p_later then",
  },
  {
    fault: "more is held than is available",
    file: "internal/credits.sql",
    from: "where a.account = p_job.account and a.available >= p_job.cost;",
    to: "where a.account = p_job.account and a.available > 0;",
  },
  {
    fault: "a job that can't be paid is enqueued all the same",
    file: "internal/enqueue.sql",
    from: "delete from leasehold.jobs j where j.id = p_job.id;",
    to: "",
  },
  {
    fault: "a retry is free",
    file: "internal/retry.sql",
    from: "if v_outcome = 'retried' and v_job.cost is not null and not leasehold._hold_again(v_job, p_now) then",
    to: "if v_outcome = 'retried' and v_job.cost is not null and false then",
  },
  {
    fault: "refunds exceed what was captured",
    file: "functions/refund.sql",
    from: "if v_hold.state <> 'captured' or v_refunded + p_amount > v_hold.amount",
    to: "if v_hold.state <> 'captured' or p_amount > v_hold.amount",
  },
  {
    fault: "a grant counts again under its reference",
    file: "functions/grant_credits.sql",
    from: "v_outcome := 'duplicate';",
    to: "v_available := leasehold._credit(p_account, 'grant', p_amount, null, p_reference || random(), v_now);",
  },
  {
    fault: "a ledger elsewhere is believed while it may still be charged",
    file: "internal/reconcile.sql",
    from: "if v_ledger = 'none' and v_open_ms is not null then",
    to: "if false then",
  },
  {
    fault: "a look that began in time for a charge is believed when it ends late",
    file: "internal/reconcile.sql",
    from: "j.timeout_at > p_look.claimed_at;",
    to: "j.timeout_at > p_now;",
  },
];

const locks = [
  {
    fault: "a claim is not locked while its outcome is decided",
    file: "internal/jobs.sql",
    from: "j.generation + 0 = p_generation and j.status || '' = 'running'\n  for no key update;",
    to: "j.generation + 0 = p_generation and j.status || '' = 'running';",
  },
  {
    fault: "a reap decides on what it read without a lock",
    file: "internal/reap.sql",
    from: "where j.id = any (p_ids) and leasehold._expired(j, p_now)\n    for no key update skip locked\n",
    to: "where j.id = any (p_ids) and leasehold._expired(j, p_now)\n",
  },
  {
    fault: "a reap waits for whoever holds the row",
    file: "internal/reap.sql",
    from: "for no key update skip locked\n  loop",
    to: "for no key update\n  loop",
  },
  {
    fault: "two claims take the same job",
    file: "internal/claim.sql",
    from: "order by j.run_after, j.id limit p_limit for no key update skip locked);",
    to: "order by j.run_after, j.id limit p_limit);",
  },
  {
    fault: "a claim waits for another",
    file: "internal/claim.sql",
    from: "order by j.run_after, j.id limit p_limit for no key update skip locked);",
    to: "order by j.run_after, j.id limit p_limit for no key update);",
  },
  {
    fault: "accounts are locked in any order",
    file: "internal/credits.sql",
    from: "order by a.account for no key update);",
    to: "order by md5(a.account || random()) for no key update);",
  },
  {
    fault: "a cancel decides on what it read without a lock",
    file: "internal/cancel.sql",
    from: "and (p_owner is null or j.owner = p_owner) for no key update;",
    to: "and (p_owner is null or j.owner = p_owner);",
  },
  {
    fault: "a retry decides on what it read without a lock",
    file: "internal/retry.sql",
    from: "and (p_owner is null or j.owner = p_owner) for no key update;",
    to: "and (p_owner is null or j.owner = p_owner);",
  },
  {
    fault: "a user's foreign key hides jobs from claims",
    file: "internal/jobs.sql",
    from: "j.generation + 0 = p_generation and j.status || '' = 'running'\n  for no key update;",
    to: "j.generation + 0 = p_generation and j.status || '' = 'running'\n  for update;",
  },
  {
    fault: "prune trusts its first look",
    file: "functions/prune.sql",
    from: "where j.id = any (v_ids) and j.status || '' = any (v_statuses)\n      and j.finished_at <=",
    to: "where j.id = any (v_ids) and true\n      or j.id = any (v_ids) and j.finished_at <=",
  },
  {
    fault: "a late fill overwrites a newer one",
    file: "functions/cache_put.sql",
    from: "where c.key = p_key and c.token = p_token;",
    to: "where c.key = p_key;",
  },
  {
    fault: "every is true to all who ask at once",
    file: "functions/every.sql",
    from: "  for no key update skip locked;\n",
    to: "  ;\n",
  },
];

export const faults = [...generations, ...counts, ...time, ...endings, ...money, ...locks];
