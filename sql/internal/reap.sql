-- Reaping: ending or requeueing jobs whose lease or start_by ran out.

-- Ends or requeues those of the given jobs that are past their lease or start_by, and answers what
-- became of each. Waits for nobody: a locked row is skipped, since whoever holds it is alive, and so is
-- a job whose account, or whose subject, is locked. p_owes leaves the accounts to _pay, and
-- answers what each is owed.
create or replace function leasehold._reap(p_ids uuid[], p_now timestamptz, p_owes boolean = false)
returns table (id uuid, status text, owed jsonb) language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_job leasehold.jobs;
  v_code text;
  v_to text;
begin
  for v_job in
    select j.* from leasehold.jobs j
    where j.id = any (p_ids) and leasehold._expired(j, p_now)
    for no key update skip locked
  loop
    v_code := case
      when v_job.status = 'queued' and v_job.attempts >= v_job.max_attempts then 'ATTEMPTS_EXHAUSTED'
      when v_job.status = 'queued' then 'NOT_STARTED'
      when v_job.timeout_at <= p_now then 'TIMEOUT'
      else 'LEASE_EXPIRED' end;
    v_to := case when v_job.status = 'running' and v_job.attempts < v_job.max_attempts then 'queued' else 'failed' end;
    continue when (not p_owes or v_job.kind = 'leasehold.reconcile')
      and not leasehold._money_free(v_job, 'fail', v_to = 'failed');
    v_job.budget_releases := 0;
    v_job.last_error_code := v_code;
    v_job.last_error_message := leasehold._reap_message(v_code);
    id := v_job.id;
    status := leasehold._move(v_job, v_to, v_job.run_after, p_now, p_owes);
    owed := case when p_owes then leasehold._owed(v_job, status) end;
    perform leasehold._event(v_job.id, 'reaped', v_job.generation, p_now, v_code, v_job.last_error_message,
      jsonb_strip_nulls(jsonb_build_object('attempt', v_job.attempts, 'to', status, 'worker', v_job.worker,
        'lease_until', leasehold._iso(v_job.lease_until))));
    return next;
  end loop;
end
$$;

create or replace function leasehold._reap_message(p_code text)
returns text language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case p_code
    when 'ATTEMPTS_EXHAUSTED' then 'the job was queued with no attempt left'
    when 'NOT_STARTED' then 'nobody started the job within its start_within_ms'
    when 'TIMEOUT' then 'the attempt''s timeout passed without an outcome: it hung, or its worker died'
    else 'the worker''s lease ran out: it died, froze, or lost the database' end
$$;

-- Jobs of these kinds that anyone may reap now, at most p_limit of them.
create or replace function leasehold._expired_ids(p_kinds text[], p_limit int, p_now timestamptz)
returns uuid[] language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
begin
  return array(
    select e.id from unnest(p_kinds) k (kind) cross join lateral (
      (select j.id from leasehold.jobs j
        where j.status = 'running' and j.kind = k.kind and j.lease_until <= p_now limit p_limit)
      union all
      (select j.id from leasehold.jobs j
        where j.status = 'queued' and j.kind = k.kind and j.start_by is not null and j.start_by <= p_now limit p_limit)
      union all
      (select j.id from leasehold.jobs j
        where j.status = 'queued' and j.attempts >= j.max_attempts and j.kind = k.kind limit p_limit)) e
    limit p_limit);
end
$$;

-- Kinds that have a job in this status, found by leaping from kind to kind in the index.
create or replace function leasehold._kinds_queued()
returns text[] language plpgsql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
begin
  return array(
    with recursive leap (kind) as (
      (select j.kind from leasehold.jobs j where j.status = 'queued' order by j.kind limit 1)
      union all
      select (select j.kind from leasehold.jobs j where j.status = 'queued' and j.kind > leap.kind order by j.kind limit 1)
      from leap where leap.kind is not null)
    select leap.kind from leap where leap.kind is not null);
end
$$;

create or replace function leasehold._kinds_finished()
returns text[] language plpgsql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
begin
  return array(
    with recursive leap (kind) as (
      (select j.kind from leasehold.jobs j
        where j.status in ('completed', 'failed', 'cancelled') order by j.kind limit 1)
      union all
      select (select j.kind from leasehold.jobs j
        where j.status in ('completed', 'failed', 'cancelled') and j.kind > leap.kind order by j.kind limit 1)
      from leap where leap.kind is not null)
    select leap.kind from leap where leap.kind is not null);
end
$$;

-- Kinds with an unfinished job. Running jobs are few: each holds somebody's lease.
create or replace function leasehold._kinds_unfinished()
returns text[] language sql stable set search_path = pg_catalog, pg_temp as $$
  select array(
    select unnest(leasehold._kinds_queued())
    union
    select j.kind from leasehold.jobs j where j.status = 'running')
$$;
