-- Retrying one job, and many: a finished job begins anew.

-- Generation, last error and history stay. It enters the unique index of unfinished keys; another job
-- that holds the key by then makes this a conflict, unless that one is an orphan, which is reaped first.
create or replace function leasehold._retry(p_id uuid, p_owner text, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs;
  v_outcome text;
begin
  perform leasehold._lock_subject(p_id);
  select j.* into v_job from leasehold.jobs j
  where j.id = p_id and (p_owner is null or j.owner = p_owner) for no key update;
  if not found then
    return jsonb_build_object('outcome', 'unknown', 'id', null, 'status', null);
  end if;
  v_outcome := leasehold._no_retry(v_job);
  if v_outcome is null then
    begin
      v_outcome := leasehold._restart(v_job, p_now) ->> 'outcome';
      if v_outcome = 'retried' and v_job.cost is not null and not leasehold._hold_again(v_job, p_now) then
        raise exception using errcode = 'LH901';
      end if;
    exception when sqlstate 'LH901' then
      v_outcome := 'insufficient';
    end;
  end if;
  if v_outcome = 'retried' then
    perform leasehold._retried(v_job, p_now);
  end if;
  return jsonb_build_object('outcome', v_outcome, 'id', p_id, 'status',
    case when v_outcome = 'retried' then 'queued' else v_job.status end);
end
$$;

-- Why a job can't be retried; null where it can.
create or replace function leasehold._no_retry(p_job leasehold.jobs)
returns text language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case
    when p_job.status not in ('failed', 'cancelled') then 'wrong_status'
    when p_job.money = 'checking' then 'money_unsettled' end
$$;

-- Puts a finished job back to queued: {outcome: 'retried' or 'conflict', owed}. Its hold is the caller's
-- to take; p_owes, for one of many, leaves what an orphan in the way is owed to _pay.
create or replace function leasehold._restart(p_job leasehold.jobs, p_now timestamptz, p_owes boolean = false)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_holder leasehold.jobs;
  v_freed jsonb;
  v_owed jsonb := '[]';
begin
  for v_try in 1..2 loop
    begin
      perform leasehold._requeue(p_job, p_now);
      return jsonb_build_object('outcome', 'retried', 'owed', v_owed);
    exception when unique_violation then
      select j.* into v_holder from leasehold.jobs j
      where j.kind = p_job.kind and j.key = p_job.key and j.status in ('queued', 'running');
      exit when not found;
      v_freed := leasehold._clear_key(p_job, v_holder, p_now, p_owes);
      exit when v_freed is null;
      v_owed := v_owed || v_freed;
    end;
  end loop;
  return jsonb_build_object('outcome', 'conflict', 'owed', v_owed);
end
$$;

-- Reaps the orphan that holds a job's key: what its account is owed, [] where nothing is; null where the
-- key is not free by that. p_owes leaves its account to _pay; else the accounts of both are taken in the
-- order of their names, and never waited for: whoever is refused one leaves the orphan.
create or replace function leasehold._clear_key(
  p_job leasehold.jobs, p_holder leasehold.jobs, p_now timestamptz, p_owes boolean)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_status text;
begin
  if p_owes or p_job.cost is null or p_holder.money is distinct from 'held' or p_job.account >= p_holder.account
    or not leasehold._expired(p_holder, p_now)
  then
    return (
      select case when count(*) > 0 then coalesce(jsonb_agg(r.owed) filter (where r.owed is not null), '[]') end
      from leasehold._reap(array[p_holder.id], p_now, p_owes) r where r.status in ('failed', 'cancelled'));
  end if;
  begin
    if leasehold._try_account(p_job.account) then
      select r.status into v_status from leasehold._reap(array[p_holder.id], p_now) r;
      if found then
        return case when v_status in ('failed', 'cancelled') then '[]'::jsonb end;
      end if;
    end if;
    -- Another has reaped it, or is about to. Then the caller may have to wait for the key, and must let
    -- go of the account before: whoever takes that key may be waiting for it.
    raise exception using errcode = 'LH901';
  exception when sqlstate 'LH901' then
    return null;
  end;
end
$$;

create or replace function leasehold._requeue(p_job leasehold.jobs, p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update leasehold.jobs j set
    status = 'queued', attempts = 0, releases = 0, budget_releases = 0, run = j.run + 1,
    run_after = p_now, start_by = leasehold._start_by(p_now, j.start_within_ms, p_now),
    claimed_at = null, lease_until = null, timeout_at = null, started_at = null, finished_at = null,
    cancel_requested_at = null, progress = null, result = null,
    money = case when j.cost is not null then 'held' end, settle_after = null
  where j.id = p_job.id;
end
$$;

-- A new hold of the stored cost, for the run that has just begun.
create or replace function leasehold._hold_again(p_job leasehold.jobs, p_now timestamptz)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs := p_job;
begin
  v_job.run := p_job.run + 1;
  return leasehold._hold(v_job, p_now);
end
$$;

-- What follows once a retry stands. A look at a ledger that begins anew puts its subject's money back
-- to checking.
create or replace function leasehold._retried(p_job leasehold.jobs, p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform leasehold._settle(p_job, 'checking', p_now);
  perform leasehold._wake(p_job.kind, p_now, p_now);
  perform leasehold._event(p_job.id, 'retried', p_job.generation, p_now,
    p_detail => jsonb_build_object('from', p_job.status));
end
$$;

-- A retry of many that its account can't pay: the row is as it was.
create or replace function leasehold._unretry(p_job leasehold.jobs)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update leasehold.jobs j set
    status = p_job.status, attempts = p_job.attempts, releases = p_job.releases, budget_releases = p_job.budget_releases,
    run = p_job.run, run_after = p_job.run_after, start_by = p_job.start_by, claimed_at = p_job.claimed_at,
    timeout_at = p_job.timeout_at, started_at = p_job.started_at, finished_at = p_job.finished_at,
    cancel_requested_at = p_job.cancel_requested_at, progress = p_job.progress, result = p_job.result,
    money = p_job.money, settle_after = p_job.settle_after
  where j.id = p_job.id;
end
$$;

-- Retries the given jobs, which the caller has locked in their order. All keys come first, then the
-- accounts, in the order of their names: nothing is waited for while an account is held. Answers
-- {retried, skipped}.
create or replace function leasehold._retry_many(p_jobs leasehold.jobs[], p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_retried int := 0;
  v_skipped jsonb[] := '{}';
  v_paying leasehold.jobs[] := '{}';
  v_owed jsonb[] := '{}';
  v_job leasehold.jobs;
  v_restarted jsonb;
  v_outcome text;
begin
  foreach v_job in array p_jobs loop
    v_outcome := leasehold._no_retry(v_job);
    if v_outcome is null then
      v_restarted := leasehold._restart(v_job, p_now, true);
      v_outcome := v_restarted ->> 'outcome';
      v_owed := v_owed || array(select jsonb_array_elements(v_restarted -> 'owed'));
    end if;
    if v_outcome <> 'retried' then
      v_skipped := array_append(v_skipped, jsonb_build_object('id', v_job.id, 'outcome', v_outcome));
    elsif v_job.cost is not null then
      v_paying := array_append(v_paying, v_job);
    else
      perform leasehold._retried(v_job, p_now);
      v_retried := v_retried + 1;
    end if;
  end loop;
  if cardinality(v_paying) > 0 or cardinality(v_owed) > 0 then
    perform leasehold._lock_accounts(array(select distinct p.account from unnest(v_paying) p)
      || array(select distinct o ->> 'account' from unnest(v_owed) o));
    perform leasehold._pay(v_owed);
  end if;
  foreach v_job in array v_paying loop
    if leasehold._hold_again(v_job, p_now) then
      perform leasehold._retried(v_job, p_now);
      v_retried := v_retried + 1;
    else
      perform leasehold._unretry(v_job);
      v_skipped := array_append(v_skipped, jsonb_build_object('id', v_job.id, 'outcome', 'insufficient'));
    end if;
  end loop;
  return jsonb_build_object('retried', v_retried, 'skipped', to_jsonb(v_skipped));
end
$$;
