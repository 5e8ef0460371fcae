-- Outcomes of an attempt, for a claim that the caller has locked.

-- What complete, fail and release do with a locked claim; finish_many calls them too.
create or replace function leasehold._complete(p_job leasehold.jobs, p_result jsonb, p_now timestamptz)
returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs := p_job;
  v_bytes constant int := octet_length(p_result::text);
begin
  if p_job.kind = 'leasehold.reconcile' then
    return leasehold._complete_look(p_job, p_result, p_now);
  end if;
  v_job.budget_releases := 0;
  v_job.result := p_result;
  -- The work is done and paid: a result that can't be kept must not undo that.
  if v_bytes > 1048576 then
    v_job.result := null;
    perform leasehold._event(p_job.id, 'result_dropped', p_job.generation, p_now, 'RESULT_DROPPED',
      format('the result has %s bytes, more than 1048576', v_bytes));
  end if;
  return leasehold._move(v_job, 'completed', null, p_now);
end
$$;

create or replace function leasehold._fail(
  p_job leasehold.jobs, p_error jsonb, p_permanent boolean, p_retry_after_ms bigint, p_now timestamptz)
returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs := p_job;
  v_code constant text := left(coalesce(nullif(p_error ->> 'code', ''), 'ERROR'), 100);
  v_message constant text := left(coalesce(nullif(p_error ->> 'message', ''), v_code), 4000);
  v_details jsonb := p_error -> 'details';
  v_delay_ms bigint := leasehold._backoff_ms(p_job.kind, p_job.attempts);
  v_to constant text := case when p_permanent or p_job.attempts >= p_job.max_attempts then 'failed' else 'queued' end;
  v_status text;
begin
  -- Not in one expression: least(null, a day) is a day.
  if p_retry_after_ms is not null then
    v_delay_ms := least(p_retry_after_ms, 86400000);
  end if;
  v_job.budget_releases := 0;
  v_job.last_error_code := v_code;
  v_job.last_error_message := v_message;
  v_status := leasehold._move(v_job, v_to, p_now + v_delay_ms * interval '1 millisecond', p_now);
  if v_details is null or octet_length(v_details::text) > 65536 then
    v_details := '{}';
  else
    v_details := jsonb_build_object('details', v_details);
  end if;
  perform leasehold._event(p_job.id, 'failed', p_job.generation, p_now, v_code, v_message, v_details
    || jsonb_strip_nulls(jsonb_build_object('attempt', p_job.attempts, 'to', v_status, 'worker', p_job.worker)));
  return v_status;
end
$$;

-- The delay after the nth failed attempt: the kind's list, its last entry from then on, plus 0 to
-- 5 % so that what failed together does not come back together. Never less than the list says.
create or replace function leasehold._backoff_ms(p_kind text, p_attempt int)
returns bigint language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  v_list int[];
begin
  select k.backoff_ms into v_list from leasehold.kinds k where k.kind = p_kind;
  v_list := coalesce(v_list, case p_kind
    -- A look at a ledger: somebody waits for the first ones; ten attempts take a day and a half.
    when 'leasehold.reconcile' then array[5000, 30000, 60000, 300000, 900000, 3600000, 10800000, 28800000, 86400000]
    else array[60000, 300000, 900000, 3600000] end);
  return ceil(v_list[least(greatest(p_attempt, 1), cardinality(v_list))] * (1 + random() * 0.05));
end
$$;

-- Not the job's fault: the attempt is taken back.
create or replace function leasehold._release(
  p_job leasehold.jobs, p_retry_after_ms bigint, p_error_code text, p_now timestamptz)
returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs := p_job;
  v_code constant text := left(nullif(p_error_code, ''), 100);
  v_status text;
begin
  v_job.attempts := greatest(p_job.attempts - 1, 0);
  v_job.releases := p_job.releases + 1;
  v_job.budget_releases := case when v_code = 'BUDGET_EXCEEDED' then p_job.budget_releases + 1 else 0 end;
  v_job.last_error_code := coalesce(v_code, p_job.last_error_code);
  v_job.last_error_message := case when v_code is null then p_job.last_error_message end;
  v_status := leasehold._move(v_job, 'queued', p_now + p_retry_after_ms * interval '1 millisecond', p_now);
  perform leasehold._event(p_job.id, 'released', p_job.generation, p_now, v_code, p_detail =>
    jsonb_build_object('retry_after_ms', p_retry_after_ms, 'to', v_status, 'worker', p_job.worker));
  if v_job.releases >= 10 and leasehold._only_releases(p_job.id, 10) then
    perform leasehold._event(p_job.id, 'released_ten_times', p_job.generation, p_now, v_code,
      'ten releases in a row: the job costs slots and gets nowhere');
    perform leasehold._alert('warning', 'RELEASED_TEN_TIMES', p_job.id,
      'ten releases in a row: the job costs slots and gets nowhere',
      jsonb_strip_nulls(jsonb_build_object('kind', p_job.kind, 'error_code', v_code)), p_now);
  end if;
  return v_status;
end
$$;

-- Whether the last p_count outcomes of a job are all releases. What others did meanwhile is none.
create or replace function leasehold._only_releases(p_id uuid, p_count int)
returns boolean language sql stable set search_path = pg_catalog, pg_temp as $$
  select count(*) filter (where e.event = 'released') = p_count
  from (
    select event from leasehold.job_events
    where job_id = p_id and event not in ('refused', 'replaced', 'run_now')
    order by id desc limit p_count) e
$$;

-- Was this claim completed already? True for the repetition of a complete whose answer was lost,
-- also when the completion led straight into a rerun, until the next claim, whatever became of the
-- rerun meanwhile.
create or replace function leasehold._was_completed(p_id uuid, p_generation int)
returns boolean language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from leasehold.jobs j
    where j.id = p_id and j.generation = p_generation and (j.status = 'completed' or exists (
      select from leasehold.job_events e
      where e.job_id = j.id and e.generation = p_generation and e.event = 'rerun' and e.detail ->> 'after' = 'completed')))
$$;

-- Locks what the money of an outcome needs beside the job, without waiting; false where it can't.
create or replace function leasehold._money_free(p_job leasehold.jobs, p_action text, p_permanent boolean)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_ends constant boolean := p_action <> 'complete' and (p_job.cancel_requested_at is not null
    or (p_action = 'fail' and (coalesce(p_permanent, false) or p_job.attempts >= p_job.max_attempts)));
begin
  if p_job.kind = 'leasehold.reconcile' then
    return leasehold._try_subject(p_job);
  elsif p_job.money = 'held' and v_ends then
    return leasehold._try_account(p_job.account);
  end if;
  return true;
end
$$;
