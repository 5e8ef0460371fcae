-- Enqueueing: from arguments to a row, and what to do when the key or the name under `once` is taken.

-- What an enqueue accepts as options.
create or replace function leasehold._enqueue_options()
returns text[] language sql immutable set search_path = pg_catalog, pg_temp as $$
  select array['key', 'owner', 'priority', 'run_after', 'delay_ms', 'start_within_ms', 'max_attempts',
    'on_conflict', 'once', 'once_for_ms']
$$;

-- Checks kind, payload and options, and builds the row. p_kinds holds the kind's defaults (or
-- null); p_nth spreads the ids of one bulk call a microsecond apart, so that they sort as given.
create or replace function leasehold._new_job(
  p_kind text, p_payload jsonb, p_options jsonb, p_defaults leasehold.kinds, p_nth int, p_now timestamptz)
returns leasehold.jobs language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs;
  v_option text;
  v_value jsonb;
begin
  perform leasehold._check_kind(p_kind);
  v_job.id := leasehold._uuid7(p_now + p_nth * interval '1 microsecond');
  v_job.kind := p_kind;
  v_job.payload := coalesce(p_payload, 'null');
  perform leasehold._check_size('payload', v_job.payload);
  v_job.status := 'queued';
  v_job.priority := 0;
  v_job.attempts := 0;
  v_job.max_attempts := coalesce(p_defaults.max_attempts, 5);
  v_job.generation := 0;
  v_job.releases := 0;
  v_job.budget_releases := 0;
  v_job.run := 1;
  v_job.run_after := p_now;
  v_job.created_at := p_now;
  v_job.start_within_ms := p_defaults.start_within_ms;
  if p_options <> '{}' then
    for v_option, v_value in select o.key, o.value from jsonb_each(p_options) o loop
      v_job := leasehold._with_option(v_job, v_option, v_value, p_now);
    end loop;
    perform leasehold._check_together(p_options);
  end if;
  v_job.start_by := leasehold._start_by(v_job.run_after, v_job.start_within_ms, p_now);
  return v_job;
end
$$;

-- Checks one option and writes it into the row; those that are no column are checked only.
create or replace function leasehold._with_option(
  p_job leasehold.jobs, p_option text, p_value jsonb, p_now timestamptz)
returns leasehold.jobs language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs := p_job;
  v_ten_years_ms constant bigint := 315360000000;
begin
  case p_option
    when 'key' then v_job.key := leasehold._json_text('key', p_value);
    when 'owner' then v_job.owner := leasehold._json_text('owner', p_value);
    when 'priority' then v_job.priority := leasehold._json_int('priority', p_value, -32768, 32767);
    when 'run_after' then v_job.run_after := leasehold._json_time('run_after', p_value);
    when 'delay_ms' then
      v_job.run_after := p_now + leasehold._json_int('delay_ms', p_value, 0, v_ten_years_ms) * interval '1 millisecond';
    when 'start_within_ms' then
      v_job.start_within_ms := leasehold._json_int('start_within_ms', p_value, 1, v_ten_years_ms);
    when 'max_attempts' then v_job.max_attempts := leasehold._json_int('max_attempts', p_value, 1, 32767);
    when 'on_conflict' then
      if p_value not in ('"conflict"', '"replace"', '"rerun"') then
        perform leasehold._refuse('on_conflict', p_value::text, '"conflict", "replace" or "rerun"');
      end if;
    when 'once' then perform leasehold._json_text('once', p_value);
    when 'once_for_ms' then perform leasehold._json_int('once_for_ms', p_value, 1, v_ten_years_ms);
    else perform leasehold._refuse_option(p_option, leasehold._enqueue_options());
  end case;
  return v_job;
end
$$;

-- Options that contradict each other, or that mean nothing alone.
create or replace function leasehold._check_together(p_options jsonb)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_options ? 'run_after' and p_options ? 'delay_ms' then
    perform leasehold._refuse('delay_ms', p_options ->> 'delay_ms', 'either run_after or delay_ms, not both');
  elsif p_options ? 'once_for_ms' and p_options ->> 'once' is null then
    perform leasehold._refuse('once_for_ms', p_options ->> 'once_for_ms', 'once_for_ms only together with once');
  elsif p_options ->> 'on_conflict' in ('replace', 'rerun') and p_options ->> 'key' is null then
    perform leasehold._refuse('on_conflict', p_options ->> 'on_conflict', 'on_conflict only together with a key');
  end if;
end
$$;

-- Puts one job into the queue, or says who is in its way. Locks once, then jobs.
create or replace function leasehold._enqueue(
  p_job leasehold.jobs, p_on_conflict text, p_once text, p_once_for_ms bigint, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_owner constant text := coalesce(p_job.owner, '');
  v_first uuid;
  v_answer jsonb;
begin
  if p_once is null then
    return leasehold._enqueue_key(p_job, p_on_conflict, p_now);
  end if;
  v_first := leasehold._once(p_job.kind, v_owner, p_once, p_now);
  if v_first is not null then
    return jsonb_build_object('outcome', 'duplicate', 'id', v_first,
      'status', (select j.status from leasehold.jobs j where j.id = v_first));
  end if;
  v_answer := leasehold._enqueue_key(p_job, p_on_conflict, p_now);
  if v_answer ->> 'outcome' in ('created', 'replaced', 'rerun') then
    update leasehold.once o
    set job_id = (v_answer ->> 'id')::uuid,
      expires_at = p_now + coalesce(p_once_for_ms, 2592000000) * interval '1 millisecond'
    where o.kind = p_job.kind and o.owner = v_owner and o.once = p_once;
  else
    delete from leasehold.once o where o.kind = p_job.kind and o.owner = v_owner and o.once = p_once;
  end if;
  return v_answer;
end
$$;

-- The job that was first enqueued under this name while the name is in force; otherwise null, and
-- the name is this transaction's to give: a rival waits at it until we commit or roll back.
create or replace function leasehold._once(p_kind text, p_owner text, p_once text, p_now timestamptz)
returns uuid language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_row leasehold.once;
begin
  loop
    select * into v_row from leasehold.once o where o.kind = p_kind and o.owner = p_owner and o.once = p_once;
    if v_row.expires_at > p_now then
      return v_row.job_id;
    end if;
    insert into leasehold.once (kind, owner, once, expires_at) values (p_kind, p_owner, p_once, p_now)
    on conflict (kind, owner, once) do nothing;
    if found then
      return null;
    end if;
    select * into v_row from leasehold.once o where o.kind = p_kind and o.owner = p_owner and o.once = p_once
    for no key update;
    if v_row.expires_at <= p_now then
      return null;
    end if;
  end loop;
end
$$;

-- One unfinished job per kind and key. ON CONFLICT waits for a rival that has not committed; its
-- holder is read in a statement of its own, which sees what was committed meanwhile. A holder that
-- anyone may reap is reaped first, so an orphan never locks its user out.
create or replace function leasehold._enqueue_key(p_job leasehold.jobs, p_on_conflict text, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_holder leasehold.jobs;
  v_answer jsonb;
begin
  for v_try in 1..10 loop
    insert into leasehold.jobs select p_job.*
    on conflict (kind, key) where key is not null and status in ('queued', 'running') do nothing;
    if found then
      return jsonb_build_object('outcome', 'created', 'id', p_job.id, 'status', 'queued');
    end if;
    select j.* into v_holder from leasehold.jobs j
    where j.kind = p_job.kind and j.key = p_job.key and j.status in ('queued', 'running');
    if found and leasehold._expired(v_holder, p_now) then
      perform leasehold._reap(array[v_holder.id], p_now);
      select j.* into v_holder from leasehold.jobs j where j.id = v_holder.id and j.status in ('queued', 'running');
    end if;
    if found then
      -- Past its lease still: whoever holds the row decides about the job, and we do not wait for that.
      v_answer := leasehold._meet_holder(p_job, v_holder,
        case when leasehold._expired(v_holder, p_now) then 'conflict' else p_on_conflict end, p_now);
      if v_answer is not null then
        return v_answer;
      end if;
    end if;
  end loop;
  raise exception using errcode = 'LH005',
    message = format('kind %s, key %s: ten tries met a holder that was gone each time', quote_literal(p_job.kind), quote_literal(p_job.key)),
    hint = 'Try again; if it lasts, something enqueues and ends this key in a loop.';
end
$$;

-- What an enqueue does about the unfinished job that holds its key; null when the holder moved on
-- in the meantime and everything is to be decided again.
create or replace function leasehold._meet_holder(
  p_job leasehold.jobs, p_holder leasehold.jobs, p_on_conflict text, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_ours constant boolean := p_holder.owner is not distinct from p_job.owner;
begin
  if v_ours and p_on_conflict in ('replace', 'rerun') and p_holder.status = 'queued' then
    return leasehold._replace(p_job, p_holder.id, p_now);
  elsif v_ours and p_on_conflict = 'rerun' and p_holder.cancel_requested_at is null then
    update leasehold.jobs j set rerun = p_job.payload, run_after = p_job.run_after
    where j.id = p_holder.id and j.status || '' = 'running' and j.cancel_requested_at is null;
    return case when found then jsonb_build_object('outcome', 'rerun', 'id', p_holder.id, 'status', 'running') end;
  end if;
  return jsonb_build_object('outcome', 'conflict', 'id', null, 'status', null, 'holder',
    jsonb_build_object('id', case when v_ours then p_holder.id end, 'status', p_holder.status));
end
$$;

-- A queued holder takes the newer payload. A delay that a failure or release asked for still holds.
create or replace function leasehold._replace(p_job leasehold.jobs, p_holder_id uuid, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_holder leasehold.jobs;
  v_run_after timestamptz;
begin
  select j.* into v_holder from leasehold.jobs j
  where j.id = p_holder_id and j.status || '' = 'queued' for no key update;
  if not found then
    return null;
  end if;
  v_run_after := case when v_holder.attempts > 0 or v_holder.releases > 0
    then greatest(v_holder.run_after, p_job.run_after) else p_job.run_after end;
  update leasehold.jobs j set payload = p_job.payload, run_after = v_run_after,
    start_by = leasehold._start_by(v_run_after, j.start_within_ms, p_now)
  where j.id = p_holder_id;
  perform leasehold._event(p_holder_id, 'replaced', v_holder.generation, p_now);
  return jsonb_build_object('outcome', 'replaced', 'id', p_holder_id, 'status', 'queued');
end
$$;

-- The argument of enqueue_many: an array of objects, and the first bad entry named by its index.
create or replace function leasehold._check_jobs(p_jobs jsonb)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_index bigint;
  v_job jsonb;
begin
  if jsonb_typeof(p_jobs) is distinct from 'array' or jsonb_array_length(p_jobs) > 10000 then
    perform leasehold._refuse('p_jobs', case when jsonb_typeof(p_jobs) = 'array'
      then format('an array of %s', jsonb_array_length(p_jobs)) else p_jobs::text end, 'an array of at most 10000 jobs');
  end if;
  select e.nth - 1, e.job into v_index, v_job from jsonb_array_elements(p_jobs) with ordinality e (job, nth)
  where jsonb_typeof(e.job) is distinct from 'object' or jsonb_typeof(e.job -> 'kind') is distinct from 'string'
  order by e.nth limit 1;
  if found then
    perform leasehold._refuse(format('p_jobs[%s]', v_index), v_job::text, 'an object with a kind, a payload and options');
  end if;
end
$$;

-- Raises the error of the first entry that enqueue_many can't take, with its index in front. Looked
-- for only when the call was refused, so that good calls don't pay for it.
create or replace function leasehold._refuse_job(p_jobs jsonb, p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_index bigint;
  v_job jsonb;
  v_code text;
  v_message text;
  v_hint text;
begin
  for v_index, v_job in
    select e.nth - 1, e.job from jsonb_array_elements(p_jobs) with ordinality e (job, nth) order by e.nth
  loop
    begin
      perform leasehold._new_job(v_job ->> 'kind', v_job -> 'payload', v_job - array['kind', 'payload'], null, 0, p_now);
    exception when sqlstate 'LH002' or sqlstate 'LH003' or sqlstate 'LH004' then
      get stacked diagnostics v_code = returned_sqlstate, v_message = message_text, v_hint = pg_exception_hint;
      raise exception using errcode = v_code, message = format('p_jobs[%s]: %s', v_index, v_message), hint = v_hint;
    end;
  end loop;
end
$$;

-- Takes the names under `once` of a bulk call in their order, before any job: those that are new are
-- reserved, those whose time is over are locked. _once then finds them ours without waiting. One
-- statement does both: a name that is deleted while we wait for it is reserved in its turn.
create or replace function leasehold._lock_once(p_jobs jsonb, p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from jsonb_array_elements(p_jobs) e (job) where e.job ->> 'once' is not null;
  if not found then
    return;
  end if;
  insert into leasehold.once as o (kind, owner, once, expires_at)
  select n.kind, n.owner, n.once, p_now
  from (
    select distinct e.job ->> 'kind' as kind, coalesce(e.job ->> 'owner', '') as owner, e.job ->> 'once' as once
    from jsonb_array_elements(p_jobs) e (job) where e.job ->> 'once' is not null) n
  where not exists (
    select from leasehold.once f
    where f.kind = n.kind and f.owner = n.owner and f.once = n.once and f.expires_at > p_now)
  order by n.kind, n.owner, n.once
  on conflict (kind, owner, once) do update set expires_at = o.expires_at where o.expires_at <= p_now;
end
$$;
