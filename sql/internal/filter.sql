-- Filters of list, retry_many and cancel_many.

-- Ids of the jobs that a filter names, newest first, at most one more than its limit (so that the
-- caller knows whether there is a next page). Built as text: each combination gets its own plan. Out of
-- the newest p_look_at jobs only, where that is given: of the failed ones where only those are asked for.
create or replace function leasehold._matching(p_filter jsonb, p_statuses text[], p_default_limit int, p_look_at int = null)
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
  execute format('select array(select j.id from (%s) j where %s order by j.id desc limit $8)',
    leasehold._newest(p_filter, v_statuses) || case when p_look_at is not null then ' order by o.id desc limit $9' else '' end, v_where)
  into v_ids
  using leasehold._json_uuids('ids', p_filter -> 'ids'),
    leasehold._json_text('kind', p_filter -> 'kind'), leasehold._json_text('key', p_filter -> 'key'),
    leasehold._json_text('owner', p_filter -> 'owner'), leasehold._json_text('error_code', p_filter -> 'error_code'),
    v_statuses, leasehold._filter_after(p_filter), v_limit + 1, p_look_at;
  return v_ids;
end
$$;

-- Where a filter looks, as SQL: all jobs or the failed ones, from $7 on where that is given.
create or replace function leasehold._newest(p_filter jsonb, p_statuses text[])
returns text language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return format('select o.* from %I.jobs o where %s', '{{schema}}',
    case when p_statuses = array['failed'] then 'o.status = ''failed''' else 'true' end
    || case when p_filter ->> 'after' is not null then ' and o.id < $7' else '' end);
end
$$;

-- The job at which a look at so many ends; null where there are fewer.
create or replace function leasehold._looked_to(p_filter jsonb, p_look_at int)
returns uuid language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  v_id uuid;
begin
  execute format('select j.id from (%s order by o.id desc offset $9 - 1 limit 1) j',
    leasehold._newest(p_filter, leasehold._filter_statuses(p_filter))) into v_id
  using null, null, null, null, null, null, leasehold._filter_after(p_filter), null, p_look_at;
  return v_id;
end
$$;

create or replace function leasehold._filter_after(p_filter jsonb)
returns uuid language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (leasehold._json_uuids('after', jsonb_build_array(p_filter -> 'after')))[1];
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

-- Ids of the jobs that a bulk operation goes through. Those that the filter names stay in whatever their
-- status is: the caller is told of each. A null is refused: a variable that was never set must not
-- stand for everybody's jobs.
create or replace function leasehold._bulk_ids(p_filter jsonb, p_statuses text[])
returns uuid[] language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  v_default constant int := case when p_filter ? 'ids' then 10000 else 1000 end;
  v_limit constant int := leasehold._filter_limit(p_filter, v_default);
  v_ids constant uuid[] := leasehold._matching(p_filter, case when p_filter ? 'ids' then null else p_statuses end, v_default);
  v_null constant text := (
    select n from unnest(array['kind', 'key', 'owner', 'status', 'error_code', 'after']) n where p_filter -> n = 'null' limit 1);
begin
  if v_null is not null then
    perform leasehold._refuse(v_null, 'null', 'a value: leave it out to mean every one');
  end if;
  return v_ids[:v_limit];
end
$$;

-- Locks these jobs in the one order in which jobs are locked, and answers them in it. Jobs that settle
-- others come last, behind those. With p_statuses only jobs of these are locked, and of these only locked
-- ones are answered: who is about to wait for a key must not hold an unfinished job, since whoever takes
-- that key may be waiting for it.
create or replace function leasehold._lock_bulk(p_ids uuid[], p_statuses text[] = null)
returns leasehold.jobs[] language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_locked constant uuid[] := array(
    select l.id from (
      select j.id from leasehold.jobs j
      where j.id = any (p_ids || array(
          select leasehold._subject(r) from leasehold.jobs r where r.id = any (p_ids) and r.kind = 'leasehold.reconcile'))
        and (p_statuses is null or j.status || '' = any (p_statuses))
      order by j.kind = 'leasehold.reconcile', j.kind, j.key, j.id for no key update) l);
begin
  return array(
    select j from leasehold.jobs j left join unnest(v_locked) l (id) on l.id = j.id
    where j.id = any (p_ids) and (p_statuses is null or l.id is not null or j.status || '' <> all (p_statuses))
    order by j.kind = 'leasehold.reconcile', j.kind, j.key, j.id);
end
$$;

-- Those of the ids that are gone, pruned or removed while we waited; and those that were unfinished then
-- and are not any more, which nobody has locked.
create or replace function leasehold._vanished(p_ids uuid[], p_jobs leasehold.jobs[])
returns jsonb language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'outcome',
    case when exists (select from leasehold.jobs j where j.id = i.id) then 'wrong_status' else 'unknown' end)), '[]')
  from unnest(p_ids) i (id) where i.id not in (select j.id from unnest(p_jobs) j)
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
