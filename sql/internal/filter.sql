-- Filters of list, retry_many and cancel_many, and what those do to one job.

-- Ids of the jobs that a filter names, newest first, at most one more than its limit (so that the
-- caller knows whether there is a next page). Built as text: each combination gets its own plan.
create or replace function leasehold._matching(p_filter jsonb, p_statuses text[], p_default_limit int)
returns uuid[] language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  v_statuses constant text[] := coalesce(leasehold._filter_statuses(p_filter), p_statuses);
  v_limit constant int := leasehold._filter_limit(p_filter, p_default_limit);
  v_where text := 'true';
  v_ids uuid[];
begin
  perform leasehold._check_options('p_filter', p_filter,
    array['ids', 'kind', 'key', 'owner', 'status', 'error_code', 'limit', 'after']);
  if p_filter ? 'ids' then v_where := v_where || ' and j.id = any ($1)'; end if;
  if p_filter ->> 'kind' is not null then v_where := v_where || ' and j.kind = $2'; end if;
  if p_filter ->> 'key' is not null then v_where := v_where || ' and j.key = $3'; end if;
  if p_filter ->> 'owner' is not null then v_where := v_where || ' and j.owner = $4'; end if;
  if p_filter ->> 'error_code' is not null then v_where := v_where || ' and j.last_error_code = $5'; end if;
  if v_statuses is not null then v_where := v_where || ' and j.status = any ($6)'; end if;
  if p_filter ->> 'after' is not null then v_where := v_where || ' and j.id < $7'; end if;
  execute format('select array(select j.id from %I.jobs j where %s order by j.id desc limit $8)', '{{schema}}', v_where)
  into v_ids
  using leasehold._json_uuids('ids', p_filter -> 'ids'),
    leasehold._json_text('kind', p_filter -> 'kind'), leasehold._json_text('key', p_filter -> 'key'),
    leasehold._json_text('owner', p_filter -> 'owner'), leasehold._json_text('error_code', p_filter -> 'error_code'),
    v_statuses, (leasehold._json_uuids('after', jsonb_build_array(p_filter -> 'after')))[1], v_limit + 1;
  return v_ids;
end
$$;

create or replace function leasehold._filter_limit(p_filter jsonb, p_default int)
returns int language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if p_filter ? 'limit' then
    return leasehold._json_int('limit', p_filter -> 'limit', 1, 10000);
  end if;
  return p_default;
end
$$;

-- The statuses that a filter asks for: one as text, or several in an array; null when it asks for none.
create or replace function leasehold._filter_statuses(p_filter jsonb)
returns text[] language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if p_filter -> 'status' is null or p_filter -> 'status' = 'null' then
    return null;
  end if;
  return leasehold._json_statuses('status', p_filter -> 'status',
    array['queued', 'running', 'completed', 'failed', 'cancelled']);
end
$$;

-- A finished job begins anew: generation, last error and history stay. It enters the unique index
-- of unfinished keys; another job that holds the key by then makes this a conflict, unless that
-- one is an orphan, which is reaped first.
create or replace function leasehold._retry(p_id uuid, p_owner text, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs;
begin
  select j.* into v_job from leasehold.jobs j
  where j.id = p_id and (p_owner is null or j.owner = p_owner) for no key update;
  if not found then
    return jsonb_build_object('outcome', 'unknown', 'id', null, 'status', null);
  elsif v_job.status not in ('failed', 'cancelled') then
    return jsonb_build_object('outcome', 'wrong_status', 'id', p_id, 'status', v_job.status);
  end if;
  for v_try in 1..2 loop
    begin
      perform leasehold._restart(v_job, p_now);
      return jsonb_build_object('outcome', 'retried', 'id', p_id, 'status', 'queued');
    exception when unique_violation then
      exit when not exists (
        select from leasehold.jobs j, leasehold._reap(array[j.id], p_now) r
        where j.kind = v_job.kind and j.key = v_job.key and j.status in ('queued', 'running') and r.status in ('failed', 'cancelled'));
    end;
  end loop;
  return jsonb_build_object('outcome', 'conflict', 'id', p_id, 'status', v_job.status);
end
$$;

create or replace function leasehold._restart(p_job leasehold.jobs, p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update leasehold.jobs j set
    status = 'queued', attempts = 0, releases = 0, budget_releases = 0, run = j.run + 1,
    run_after = p_now, start_by = leasehold._start_by(p_now, j.start_within_ms, p_now),
    claimed_at = null, lease_until = null, timeout_at = null, started_at = null, finished_at = null,
    cancel_requested_at = null, progress = null, result = null
  where j.id = p_job.id;
  perform leasehold._wake(p_job.kind, p_now, p_now);
  perform leasehold._event(p_job.id, 'retried', p_job.generation, p_now,
    p_detail => jsonb_build_object('from', p_job.status));
end
$$;

-- A queued job ends at once; a running one is asked to, and its next extend tells the worker.
create or replace function leasehold._cancel(p_id uuid, p_owner text, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs;
begin
  perform leasehold._reap(array(
    select j.id from leasehold.jobs j where j.id = p_id and (p_owner is null or j.owner = p_owner)), p_now);
  select j.* into v_job from leasehold.jobs j
  where j.id = p_id and (p_owner is null or j.owner = p_owner) for no key update;
  if not found then
    return jsonb_build_object('outcome', 'unknown', 'status', null);
  elsif v_job.status = 'queued' then
    perform leasehold._move(v_job, 'cancelled', null, p_now);
    perform leasehold._event(p_id, 'cancelled', v_job.generation, p_now);
    return jsonb_build_object('outcome', 'cancelled', 'status', 'cancelled');
  elsif v_job.status = 'running' then
    if v_job.cancel_requested_at is null then
      update leasehold.jobs j set cancel_requested_at = p_now where j.id = p_id;
      perform leasehold._event(p_id, 'cancel_requested', v_job.generation, p_now);
    end if;
    return jsonb_build_object('outcome', 'requested', 'status', 'running');
  end if;
  return jsonb_build_object('outcome', 'finished', 'status', v_job.status);
end
$$;

-- The jobs that a bulk operation goes through, in the one order in which jobs are locked. Ids that the
-- filter names stay in whatever their status is: the caller is told of each.
create or replace function leasehold._bulk_ids(p_filter jsonb, p_statuses text[])
returns setof uuid language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  v_default constant int := case when p_filter ? 'ids' then 10000 else 1000 end;
  v_limit constant int := leasehold._filter_limit(p_filter, v_default);
  v_ids constant uuid[] := leasehold._matching(p_filter, case when p_filter ? 'ids' then null else p_statuses end, v_default);
begin
  return query
    select j.id from leasehold.jobs j where j.id = any (v_ids[:v_limit]) order by j.kind, j.key, j.id;
end
$$;

-- Ids that a bulk operation was given and that no job of its filter has.
create or replace function leasehold._unmatched(p_filter jsonb)
returns jsonb language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  v_ids uuid[];
begin
  if jsonb_typeof(p_filter) is distinct from 'object' or not p_filter ? 'ids' then
    return '[]';
  end if;
  -- Without its limit: what that leaves out is not unknown.
  v_ids := leasehold._matching(p_filter - 'limit', null, 10000);
  return coalesce((
    select jsonb_agg(jsonb_build_object('id', i.id, 'outcome', 'unknown'))
    from unnest(leasehold._json_uuids('ids', p_filter -> 'ids')) i (id)
    where not i.id = any (v_ids)), '[]');
end
$$;
