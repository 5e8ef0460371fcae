-- A job's moves from one status to the next, shared by every function that ends an attempt.

create or replace function leasehold._event(
  p_job_id uuid, p_event text, p_generation int, p_now timestamptz,
  p_code text = null, p_message text = null, p_detail jsonb = null)
returns void language sql volatile set search_path = pg_catalog, pg_temp as $$
  insert into leasehold.job_events (job_id, at, event, generation, code, message, detail)
  values (p_job_id, p_now, p_event, p_generation, p_code, p_message, p_detail)
$$;

-- A write that came under a claim that is not valid any more: changed nothing, leaves a trace. Locked
-- against remove and prune alone, or the trace could outlive its job; nobody else meets that lock.
create or replace function leasehold._refused(p_id uuid, p_generation int, p_action text, p_now timestamptz)
returns void language sql volatile set search_path = pg_catalog, pg_temp as $$
  insert into leasehold.job_events (job_id, at, event, generation, detail)
  select j.id, p_now, 'refused', p_generation,
    jsonb_build_object('action', p_action, 'status', j.status, 'generation', j.generation)
  from leasehold.jobs j where j.id = p_id for key share skip locked
$$;

-- When a job that enters queued must have been started; null: whenever.
create or replace function leasehold._start_by(p_run_after timestamptz, p_start_within_ms bigint, p_now timestamptz)
returns timestamptz language sql stable set search_path = pg_catalog, pg_temp as $$
  select greatest(p_now, p_run_after) + p_start_within_ms * interval '1 millisecond'
$$;

-- Whether anyone may reap this row now.
create or replace function leasehold._expired(p_job leasehold.jobs, p_now timestamptz)
returns boolean language sql stable set search_path = pg_catalog, pg_temp as $$
  select case p_job.status
    when 'running' then p_job.lease_until <= p_now
    when 'queued' then p_job.attempts >= p_job.max_attempts or (p_job.start_by is not null and p_job.start_by <= p_now)
    else false end
$$;

-- Locks the job if this claim on it is valid, waiting for whoever holds the row. A claim is valid
-- while the job is running under its generation: the clock has no say. The expressions around
-- status and generation keep any index but the primary key from tempting the planner.
create or replace function leasehold._lock_claim(p_id uuid, p_generation int)
returns leasehold.jobs language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_job leasehold.jobs;
begin
  perform leasehold._lock_subject(p_id);
  select j.* into v_job from leasehold.jobs j
  where j.id = p_id and j.generation + 0 = p_generation and j.status || '' = 'running'
  for no key update;
  return v_job;
end
$$;

-- Locks the jobs of those claims {id, generation} that are valid, without waiting for whoever holds a
-- row, and answers their ids.
create or replace function leasehold._lock_claims(p_claims jsonb)
returns uuid[] language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
begin
  return array(
    select l.id from jsonb_to_recordset(p_claims) c (id uuid, generation int) cross join lateral (
      select j.id from leasehold.jobs j
      where j.id = c.id and j.generation + 0 = c.generation and j.status || '' = 'running'
      limit 1 for no key update skip locked) l);
end
$$;

-- Moves a job that the caller has locked to where it goes next, and answers its new status.
-- p_job is the row with what the outcome changed (attempts, releases, error, result); p_to says
-- what the outcome asks for: completed, failed, cancelled, or queued at p_run_after. A requested
-- cancel turns all but completed into cancelled; a pending rerun turns what is left into queued.
-- What the job holds is captured or given back here, so that status and money never disagree;
-- p_owes leaves the account itself to _pay.
create or replace function leasehold._move(
  p_job leasehold.jobs, p_to text, p_run_after timestamptz, p_now timestamptz, p_owes boolean = false)
returns text language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_cancel constant boolean := p_job.cancel_requested_at is not null;
  v_to text := case when v_cancel and p_to <> 'completed' then 'cancelled' else p_to end;
  v_start_by constant timestamptz := leasehold._start_by(p_run_after, p_job.start_within_ms, p_now);
  v_money constant text := leasehold._money_at(p_job, v_to);
begin
  if p_job.rerun is not null and not v_cancel then
    return leasehold._rerun(p_job, p_to, p_run_after, p_now);
  end if;
  update leasehold.jobs j set
    status = v_to,
    attempts = p_job.attempts,
    releases = p_job.releases,
    budget_releases = p_job.budget_releases,
    result = p_job.result,
    last_error_code = p_job.last_error_code,
    last_error_message = p_job.last_error_message,
    lease_until = null,
    timeout_at = case when v_to = 'queued' then null else greatest(j.timeout_at, j.settle_after) end,
    settle_after = case when j.external then greatest(j.timeout_at, j.settle_after) end,
    money = v_money,
    run_after = case when v_to = 'queued' then p_run_after else j.run_after end,
    start_by = case when v_to = 'queued' then v_start_by else j.start_by end,
    finished_at = case when v_to = 'queued' then null else p_now end,
    rerun = null
  where j.id = p_job.id;
  if v_to = 'queued' then
    perform leasehold._wake(p_job.kind, p_run_after, p_now);
  elsif v_money is distinct from p_job.money then
    perform leasehold._end_money(p_job, v_money, p_owes, p_now);
  elsif p_job.kind = 'leasehold.reconcile' and v_to <> 'completed' then
    perform leasehold._settle(p_job, 'unknown', p_now);
  end if;
  return v_to;
end
$$;

-- What a job's money becomes as the job goes to this status.
create or replace function leasehold._money_at(p_job leasehold.jobs, p_to text)
returns text language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case
    when p_job.money = 'held' and p_to = 'completed' then 'captured'
    when p_job.money = 'held' and p_to in ('failed', 'cancelled') then 'given_back'
    when p_job.external and p_to in ('failed', 'cancelled') then 'checking'
    else p_job.money end
$$;

-- Carries out what the money of a job that has just ended became.
create or replace function leasehold._end_money(p_job leasehold.jobs, p_money text, p_owes boolean, p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_money = 'checking' then
    perform leasehold._reconcile(p_job, p_now);
  else
    perform leasehold._end_hold(p_job, p_money, p_owes, p_now);
  end if;
end
$$;

-- The job leaves running and at once begins its next run, with the payload that came meanwhile. A
-- delay that the outcome asked for (backoff, Retry-After) still holds.
create or replace function leasehold._rerun(
  p_job leasehold.jobs, p_to text, p_run_after timestamptz, p_now timestamptz)
returns text language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_run_after constant timestamptz := case
    when p_to = 'queued' then greatest(p_job.run_after, p_run_after) else p_job.run_after end;
begin
  update leasehold.jobs j set
    status = 'queued',
    payload = p_job.rerun,
    rerun = null,
    run = j.run + 1,
    attempts = 0,
    releases = 0,
    budget_releases = 0,
    progress = null,
    result = null,
    last_error_code = p_job.last_error_code,
    last_error_message = p_job.last_error_message,
    lease_until = null,
    timeout_at = null,
    started_at = null,
    run_after = v_run_after,
    start_by = leasehold._start_by(v_run_after, j.start_within_ms, p_now)
  where j.id = p_job.id;
  delete from leasehold.steps s where s.job_id = p_job.id;
  perform leasehold._wake(p_job.kind, v_run_after, p_now);
  perform leasehold._event(p_job.id, 'rerun', p_job.generation, p_now, p_detail => jsonb_build_object('after', p_to));
  return 'queued';
end
$$;

-- The answer of an extend whose claim is valid.
create or replace function leasehold._held(p_job leasehold.jobs, p_busy boolean)
returns jsonb language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('held', true, 'lease_until', leasehold._iso(p_job.lease_until),
    'cancel_requested', p_job.cancel_requested_at is not null, 'busy', p_busy)
$$;

-- The answer of an extend whose claim is not valid any more.
create or replace function leasehold._not_held()
returns jsonb language sql immutable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('held', false, 'lease_until', null, 'cancel_requested', false, 'busy', false)
$$;

-- A job as list shows it.
create or replace function leasehold._listed(p_job leasehold.jobs)
returns jsonb language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object(
    'id', p_job.id, 'kind', p_job.kind, 'key', p_job.key, 'owner', p_job.owner, 'status', p_job.status,
    'priority', p_job.priority, 'attempts', p_job.attempts, 'max_attempts', p_job.max_attempts,
    'generation', p_job.generation, 'releases', p_job.releases, 'run', p_job.run, 'worker', p_job.worker,
    'error_code', p_job.last_error_code, 'error_message', p_job.last_error_message,
    'cancel_requested', p_job.cancel_requested_at is not null,
    'money', p_job.money, 'cost', p_job.cost, 'account', p_job.account, 'external', p_job.external,
    'run_after', leasehold._iso(p_job.run_after), 'start_by', leasehold._iso(p_job.start_by),
    'lease_until', leasehold._iso(p_job.lease_until), 'timeout_at', leasehold._iso(p_job.timeout_at),
    'created_at', leasehold._iso(p_job.created_at), 'started_at', leasehold._iso(p_job.started_at),
    'claimed_at', leasehold._iso(p_job.claimed_at), 'finished_at', leasehold._iso(p_job.finished_at))
$$;
