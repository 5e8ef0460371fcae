-- Enqueueing a row, and what to do when its key or its name under `once` is taken.

-- The straight way of most jobs: names of printable ASCII, few options, a key that is free. In one
-- statement, since each one more costs as much as its work (453 us of CPU to 286 at 16 clients). Null
-- where the job has to go the long way, which refuses what is bad; nothing is written then.
create or replace function leasehold._enqueue_straight(
  p_kind text, p_payload jsonb, p_options jsonb, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_ordinary constant text := '^[!-~]+$';
  v_id uuid;
  v_run_after timestamptz;
  v_tell boolean;
begin
  if p_kind ~ v_ordinary and octet_length(p_kind) <= 100 and not starts_with(p_kind, 'leasehold.')
    and octet_length(p_payload::text) <= 1048576
    and (p_options = '{}' or p_options - array['key', 'owner', 'priority', 'max_attempts', 'delay_ms', 'trace_context'] = '{}'
      and coalesce(jsonb_typeof(p_options -> 'key') = 'string' and p_options ->> 'key' ~ v_ordinary and octet_length(p_options ->> 'key') <= 500, true)
      and coalesce(jsonb_typeof(p_options -> 'owner') = 'string' and p_options ->> 'owner' ~ v_ordinary and octet_length(p_options ->> 'owner') <= 500, true)
      and coalesce(p_options -> 'priority' between '-32768' and '32767' and strpos(p_options ->> 'priority', '.') = 0, true)
      and coalesce(p_options -> 'max_attempts' between '1' and '32767' and strpos(p_options ->> 'max_attempts', '.') = 0, true)
      and coalesce(p_options -> 'delay_ms' between '0' and '315360000000' and strpos(p_options ->> 'delay_ms', '.') = 0, true)
      and (not p_options ? 'trace_context' or leasehold._is_trace_context(p_options -> 'trace_context')))
  then
    insert into leasehold.jobs as j
      (id, kind, key, owner, payload, priority, max_attempts, run_after, start_within_ms, start_by, created_at, trace_context)
    select leasehold._uuid7(p_now), p_kind, p_options ->> 'key', p_options ->> 'owner', p_payload,
      coalesce((p_options ->> 'priority')::smallint, 0::smallint), coalesce((p_options ->> 'max_attempts')::int, k.max_attempts, 5),
      d.run_after, k.start_within_ms, d.run_after + k.start_within_ms * interval '1 millisecond', p_now,
      p_options -> 'trace_context'
    from (select p_now + coalesce((p_options ->> 'delay_ms')::bigint, 0) * interval '1 millisecond' as run_after) d
    left join leasehold.kinds k on k.kind = p_kind
    on conflict (kind, key) where key is not null and status in ('queued', 'running') do nothing
    returning j.id, j.run_after,
      -- Who became idle while we waited for a rival of the key is told too.
      j.key is not null or exists (select from leasehold.workers w where w.idle and w.expires_at > p_now and p_kind = any (w.kinds))
    into v_id, v_run_after, v_tell;
    if v_tell then
      perform leasehold._wake(p_kind, v_run_after, p_now);
    end if;
  end if;
  return case when v_id is not null then jsonb_build_object('outcome', 'created', 'id', v_id, 'status', 'queued') end;
end
$$;

-- Puts one job into the queue, or says who is in its way. Locks once, then jobs, then accounts. p_owes,
-- for one of many: takes no hold yet, and answers what an orphan is owed as `owed`.
create or replace function leasehold._enqueue(
  p_job leasehold.jobs, p_on_conflict text, p_once text, p_once_for_ms bigint, p_now timestamptz, p_owes boolean = false)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_owner constant text := coalesce(p_job.owner, '');
  v_first uuid;
  v_answer jsonb;
begin
  if p_once is null then
    return leasehold._enqueue_key(p_job, p_on_conflict, p_now, p_owes);
  end if;
  v_first := leasehold._once(p_job.kind, v_owner, p_once, p_now);
  if v_first is not null then
    return jsonb_build_object('outcome', 'duplicate', 'id', v_first,
      'status', (select j.status from leasehold.jobs j where j.id = v_first));
  end if;
  v_answer := leasehold._enqueue_key(p_job, p_on_conflict, p_now, p_owes);
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
create or replace function leasehold._enqueue_key(
  p_job leasehold.jobs, p_on_conflict text, p_now timestamptz, p_owes boolean)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_holder leasehold.jobs;
  v_owed jsonb := '[]';
  v_answer jsonb;
begin
  for v_try in 1..10 loop
    insert into leasehold.jobs select p_job.*
    on conflict (kind, key) where key is not null and status in ('queued', 'running') do nothing;
    if found and p_job.cost is not null and not p_owes and not leasehold._hold(p_job, p_now) then
      delete from leasehold.jobs j where j.id = p_job.id;
      return jsonb_build_object('outcome', 'insufficient', 'id', null, 'status', null);
    elsif found then
      perform leasehold._wake(p_job.kind, p_job.run_after, p_now);
      v_answer := jsonb_build_object('outcome', 'created', 'id', p_job.id, 'status', 'queued');
      return case when v_owed = '[]' then v_answer else v_answer || jsonb_build_object('owed', v_owed) end;
    end if;
    select j.* into v_holder from leasehold.jobs j
    where j.kind = p_job.kind and j.key = p_job.key and j.status in ('queued', 'running');
    if found and leasehold._expired(v_holder, p_now) then
      v_owed := v_owed || coalesce(leasehold._clear_key(p_job, v_holder, p_now, p_owes), '[]');
      select j.* into v_holder from leasehold.jobs j where j.id = v_holder.id and j.status in ('queued', 'running');
    end if;
    if found then
      -- Past its lease still: whoever holds the row decides about the job, and we do not wait for that.
      v_answer := leasehold._meet_holder(p_job, v_holder,
        case when leasehold._expired(v_holder, p_now) then 'conflict' else p_on_conflict end, p_now);
      if v_answer is not null then
        return case when v_owed = '[]' then v_answer else v_answer || jsonb_build_object('owed', v_owed) end;
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
  v_free constant boolean := v_ours and p_holder.cost is null and not p_holder.external;
begin
  if v_free and p_on_conflict in ('replace', 'rerun') and p_holder.status = 'queued' then
    return leasehold._replace(p_job, p_holder.id, p_now);
  elsif v_free and p_on_conflict = 'rerun' and p_holder.cancel_requested_at is null then
    update leasehold.jobs j set rerun = p_job.payload, run_after = p_job.run_after,
      trace_context = p_job.trace_context
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
  update leasehold.jobs j set payload = p_job.payload, run_after = v_run_after, trace_context = p_job.trace_context,
    start_by = leasehold._start_by(v_run_after, j.start_within_ms, p_now)
  where j.id = p_holder_id;
  -- What its earlier attempts have done, they have done for another payload.
  if v_holder.generation > 0 then
    delete from leasehold.steps s where s.job_id = p_holder_id;
  end if;
  perform leasehold._wake(p_job.kind, v_run_after, p_now);
  perform leasehold._event(p_holder_id, 'replaced', v_holder.generation, p_now);
  return jsonb_build_object('outcome', 'replaced', 'id', p_holder_id, 'status', 'queued');
end
$$;
