-- Many jobs in a few statements: how a bulk call goes where nothing is in its way. A value to refuse, a
-- holder to replace or to reap: none of that is decided here. The call's writes are undone, and its jobs
-- go one by one (enqueue-many.sql). Both ways take the same locks in the same order: names, keys, accounts.
--
-- A job of the call is known by its place in the input, and by the id that it will have; v_others holds
-- {place, answer} of those that are not created. Where a table is read, the plan is fixed.

-- The answers of a bulk call; p_brief: their ids alone, where all jobs are created. Null where the jobs have
-- to go one by one; LH902 where that is seen after something was written; 22xxx where a run_after is no moment.
create or replace function leasehold._enqueue_together(p_jobs jsonb, p_now timestamptz, p_brief boolean)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_asks record;
  v_ids uuid[];
  v_created uuid[];
  v_others jsonb[] := '{}';
  v_answers jsonb;
begin
  select s.* into v_asks from leasehold._survey(p_jobs) s;
  if not v_asks.sound then
    return null;
  end if;
  v_ids := leasehold._uuid7_many(p_now, jsonb_array_length(p_jobs));
  v_created := v_ids;
  if v_asks.named then
    v_others := leasehold._take_names(p_jobs, v_ids, p_now);
  end if;
  if v_asks.keyed or cardinality(v_others) > 0 then
    v_created := leasehold._insert_free(p_jobs, v_ids, v_others, p_now);
    if cardinality(v_created) + cardinality(v_others) < cardinality(v_ids) then
      v_others := v_others || leasehold._meet_holders(p_jobs, v_ids, v_created, v_others, p_now);
    end if;
  else
    insert into leasehold.jobs select r.* from leasehold._rows(p_jobs, v_ids, p_now) r;
  end if;
  perform leasehold._wake_many(v_created, p_now);
  if p_brief and cardinality(v_others) = 0 and not v_asks.costly then
    return to_jsonb(v_ids);
  end if;
  v_answers := leasehold._answers(v_ids, v_others);
  if v_asks.costly then
    v_answers := leasehold._hold_together(p_jobs, v_ids, v_created, v_answers, p_now);
  end if;
  return v_answers;
end
$$;

-- What a bulk call asks for: whether all its values are sound as they stand, and whether any of its jobs
-- has a key, a name under `once`, a cost. Sound is what _new_job is sure to take; whether it takes
-- anything else is for _new_job to say. (JSON's numbers sort apart from all that is no number, and whole
-- ones are written without a point.)
create or replace function leasehold._survey(p_jobs jsonb)
returns table (sound boolean, keyed boolean, named boolean, costly boolean) language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_known constant text[] := array['kind', 'payload'] || leasehold._enqueue_options();
  v_visible constant text := '[^[:space:]\u00a0\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]';
  v_control constant text := '[\u0001-\u001f\u007f-\u009f]';
  v_moment constant text := '^[0-9]{4}(-[0-9]{2}){2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)$';
begin
  return query select
    count(*) = count(*) filter (where case when jsonb_typeof(j) = 'object' and jsonb_typeof(j -> 'kind') = 'string' then
      j - v_known = '{}'
      and j ->> 'kind' ~ v_visible and j ->> 'kind' !~ v_control and octet_length(j ->> 'kind') <= 100
      and not starts_with(j ->> 'kind', 'leasehold.')
      and coalesce(octet_length((j -> 'payload')::text) <= 1048576, true)
      and (j - array['kind', 'payload'] = '{}' or
        case jsonb_typeof(j -> 'key') when 'string' then
          j ->> 'key' ~ v_visible and j ->> 'key' !~ v_control and octet_length(j ->> 'key') <= 500
          else coalesce(j -> 'key' = 'null', true) end
        and case jsonb_typeof(j -> 'owner') when 'string' then
          j ->> 'owner' ~ v_visible and j ->> 'owner' !~ v_control and octet_length(j ->> 'owner') <= 500
          else coalesce(j -> 'owner' = 'null', true) end
        and case jsonb_typeof(j -> 'once') when 'string' then
          j ->> 'once' ~ v_visible and j ->> 'once' !~ v_control and octet_length(j ->> 'once') <= 500
          else coalesce(j -> 'once' = 'null', true) end
        and case jsonb_typeof(j -> 'account') when 'string' then
          j ->> 'account' ~ v_visible and j ->> 'account' !~ v_control and octet_length(j ->> 'account') <= 500
          else coalesce(j -> 'account' = 'null', true) end
        and coalesce(j -> 'priority' between '-32768' and '32767' and strpos(j ->> 'priority', '.') = 0, true)
        and coalesce(j -> 'max_attempts' between '1' and '32767' and strpos(j ->> 'max_attempts', '.') = 0, true)
        and coalesce(j -> 'delay_ms' between '0' and '315360000000' and strpos(j ->> 'delay_ms', '.') = 0, true)
        and coalesce(j -> 'start_within_ms' between '1' and '315360000000' and strpos(j ->> 'start_within_ms', '.') = 0, true)
        and coalesce(j -> 'once_for_ms' between '1' and '315360000000' and strpos(j ->> 'once_for_ms', '.') = 0, true)
        and coalesce(j -> 'cost' between '0' and '9007199254740991' and strpos(j ->> 'cost', '.') = 0, true)
        and coalesce(jsonb_typeof(j -> 'run_after') = 'string' and j ->> 'run_after' ~ v_moment and not j ? 'delay_ms', true)
        and coalesce(jsonb_typeof(j -> 'external') = 'boolean', true)
        and (not j ? 'trace_context' or leasehold._is_trace_context(j -> 'trace_context'))
        and not (j ? 'once_for_ms' and j ->> 'once' is null)
        and coalesce(j -> 'on_conflict' = '"conflict"' or j -> 'on_conflict' in ('"replace"', '"rerun"')
          and j ->> 'key' is not null and coalesce(j -> 'cost' = '0', true) and coalesce(j -> 'external' = 'false', true), true)
        and (coalesce(j -> 'cost' = '0', true) or j ->> 'account' is not null and coalesce(j -> 'external' = 'false', true))) end),
    coalesce(bool_or(j ->> 'key' is not null), false),
    coalesce(bool_or(j ->> 'once' is not null), false),
    coalesce(bool_or(j -> 'cost' > '0'), false)
  from jsonb_array_elements(p_jobs) j;
end
$$;

-- The rows of a bulk call whose values are sound.
create or replace function leasehold._rows(p_jobs jsonb, p_ids uuid[], p_now timestamptz)
returns setof leasehold.jobs language sql set search_path = pg_catalog, pg_temp
set enable_nestloop = off set enable_mergejoin = off set jit = off rows 5000 as $$
  select
    j.id, j.job ->> 'kind', j.job ->> 'key', j.job ->> 'owner', coalesce(j.job -> 'payload', '{}'),
    'queued',
    coalesce((j.job ->> 'priority')::smallint, 0::smallint),
    0,  -- attempts
    coalesce((j.job ->> 'max_attempts')::int, k.max_attempts, 5),
    0, 0, 0,  -- generation, releases, budget_releases
    d.run_after,
    d.start_within_ms, greatest(p_now, d.run_after) + d.start_within_ms * interval '1 millisecond',
    null::timestamptz, null::int, null::timestamptz, null::timestamptz,  -- claimed_at, lease_ms, lease_until, timeout_at
    null::jsonb, null::jsonb, null::text, null::text, null::text,  -- progress, result, last_error_code and _message, worker
    p_now, null::timestamptz, null::timestamptz, null::timestamptz,  -- created_at, started_at, finished_at, cancel_requested_at
    null::jsonb, 1,  -- rerun, run
    case when d.cost > 0 then 'held' end, d.cost, j.job ->> 'account',
    coalesce(j.job -> 'external' = 'true', false),
    null::timestamptz,  -- settle_after
    j.job -> 'trace_context'
  from rows from (jsonb_array_elements(p_jobs), unnest(p_ids)) j (job, id)
  left join leasehold.kinds k on k.kind = j.job ->> 'kind'
  cross join lateral (select
    coalesce((j.job ->> 'run_after')::timestamptz, p_now + coalesce((j.job ->> 'delay_ms')::bigint, 0) * interval '1 millisecond') as run_after,
    coalesce((j.job ->> 'start_within_ms')::bigint, k.start_within_ms) as start_within_ms,
    nullif((j.job ->> 'cost')::bigint, 0) as cost) d
$$;

-- Takes the names under `once` in their order, each for the first of its jobs in the order of keys, as if
-- that were created already; answers the others of the name, and all where the name is in force. A name
-- that is deleted while we wait for it is taken in its turn.
create or replace function leasehold._take_names(p_jobs jsonb, p_ids uuid[], p_now timestamptz)
returns jsonb[] language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  v_taken uuid[];
  v_others jsonb[];
  v_gone boolean;
begin
  with first as (
    select distinct on (j.job ->> 'kind', coalesce(j.job ->> 'owner', ''), j.job ->> 'once')
      j.job ->> 'kind' as kind, coalesce(j.job ->> 'owner', '') as owner, j.job ->> 'once' as once, j.id,
      p_now + coalesce((j.job ->> 'once_for_ms')::bigint, 2592000000) * interval '1 millisecond' as expires_at
    from rows from (jsonb_array_elements(p_jobs), unnest(p_ids)) j (job, id)
    where j.job ->> 'once' is not null
    order by 1, 2, 3, j.job ->> 'key' nulls first, j.id),
  taken as (
    insert into leasehold.once as o (kind, owner, once, job_id, expires_at)
    select f.kind, f.owner, f.once, f.id, f.expires_at from first f
    where not exists (
      select from leasehold.once i
      where i.kind = f.kind and i.owner = f.owner and i.once = f.once and i.expires_at > p_now)
    order by f.kind, f.owner, f.once
    on conflict (kind, owner, once) do update set job_id = excluded.job_id, expires_at = excluded.expires_at
      where o.expires_at <= p_now
    returning o.job_id)
  select coalesce(array_agg(t.job_id), '{}') into v_taken from taken t;
  if cardinality(v_taken) = cardinality(p_ids) then
    return '{}';
  end if;
  select coalesce(array_agg(jsonb_build_object('place', j.place, 'answer', jsonb_build_object('outcome', 'duplicate', 'id', o.job_id,
      'status', case when o.job_id = any (v_taken) then 'queued' else (select f.status from leasehold.jobs f where f.id = o.job_id) end))), '{}'),
    coalesce(bool_or(o.job_id is null), false)
  into v_others, v_gone
  from rows from (jsonb_array_elements(p_jobs), unnest(p_ids)) with ordinality j (job, id, place)
  left join lateral (
    select o.job_id from leasehold.once o
    where o.kind = j.job ->> 'kind' and o.owner = coalesce(j.job ->> 'owner', '') and o.once = j.job ->> 'once' limit 1) o on true
  where j.job ->> 'once' is not null and o.job_id is distinct from j.id;
  if v_gone then
    raise exception using errcode = 'LH902', message = 'a name in force is gone again';
  end if;
  return v_others;
end
$$;

-- Inserts those whose name and key are free, and answers their ids. ON CONFLICT waits at each key, in the
-- one order of all calls, for a rival that has not committed.
create or replace function leasehold._insert_free(p_jobs jsonb, p_ids uuid[], p_others jsonb[], p_now timestamptz)
returns uuid[] language plpgsql set search_path = pg_catalog, pg_temp
set enable_nestloop = off set enable_mergejoin = off set jit = off as $$
declare
  v_created uuid[];
begin
  with free as (
    insert into leasehold.jobs
    select r.* from leasehold._rows(p_jobs, p_ids, p_now) r
    left join (select p_ids[(o ->> 'place')::int] as id from unnest(p_others) o) o on o.id = r.id
    where o.id is null
    order by r.kind, r.key nulls first, r.id
    on conflict (kind, key) where key is not null and status in ('queued', 'running') do nothing
    returning id)
  select coalesce(array_agg(f.id), '{}') into v_created from free f;
  return v_created;
end
$$;

-- The answers of the jobs that met a holder, read in a statement of its own, which sees what was
-- committed meanwhile. LH902 where a holder is to be replaced or reaped or is gone, or where the job had
-- taken a name.
create or replace function leasehold._meet_holders(
  p_jobs jsonb, p_ids uuid[], p_created uuid[], p_others jsonb[], p_now timestamptz)
returns jsonb[] language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off as $$
declare
  v_met jsonb[];
  v_troubled boolean;
begin
  select
    array_agg(jsonb_build_object('place', j.place, 'answer', jsonb_build_object('outcome', 'conflict', 'id', null, 'status', null,
      'holder', jsonb_build_object('id', case when h.owner is not distinct from j.job ->> 'owner' then h.id end, 'status', h.status)))),
    bool_or(h.id is null or j.job ->> 'on_conflict' in ('replace', 'rerun') or j.job ->> 'once' is not null
      or leasehold._expired(h, p_now))
  into v_met, v_troubled
  from rows from (jsonb_array_elements(p_jobs), unnest(p_ids)) with ordinality j (job, id, place)
  left join unnest(p_created) c (id) on c.id = j.id
  left join unnest(p_others) o on (o ->> 'place')::bigint = j.place
  left join lateral (
    select h.* from leasehold.jobs h
    where h.kind = j.job ->> 'kind' and h.key = j.job ->> 'key' and h.status in ('queued', 'running') limit 1) h on true
  where c.id is null and o is null;
  if v_troubled then
    raise exception using errcode = 'LH902', message = 'a holder needs a closer look';
  end if;
  return v_met;
end
$$;

-- Takes what the created jobs cost from their accounts, which are locked first, in the order of their
-- names, and answers all jobs. Where one can't pay for all that it is asked for, each is decided (LH901:
-- those that had to wait behind it get their turn).
create or replace function leasehold._hold_together(
  p_jobs jsonb, p_ids uuid[], p_created uuid[], p_answers jsonb, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp
set enable_nestloop = off set enable_mergejoin = off set jit = off as $$
declare
  v_asked constant text[] := array(select distinct j ->> 'account' from jsonb_array_elements(p_jobs) j where j -> 'cost' > '0');
  v_locked constant text[] := leasehold._lock_accounts(v_asked);
  v_paid uuid[];
  v_accounts text[];
  v_amounts bigint[];
begin
  select array_agg(j.id order by j.id), array_agg(j.job ->> 'account' order by j.id), array_agg((j.job ->> 'cost')::bigint order by j.id)
  into v_paid, v_accounts, v_amounts
  from rows from (jsonb_array_elements(p_jobs), unnest(p_ids)) j (job, id)
  join unnest(p_created) c (id) on c.id = j.id
  where j.job -> 'cost' > '0';
  if cardinality(v_locked) = cardinality(v_asked) and leasehold._can_pay(v_accounts, v_amounts) then
    perform leasehold._take_holds(v_paid, v_accounts, v_amounts, p_now);
    return p_answers;
  end if;
  return to_jsonb(leasehold._hold_many(p_jobs, array(select jsonb_array_elements(p_answers)), v_locked, '{}', p_now));
end
$$;

-- The answers in the order of the input: created, where there is no other one.
create or replace function leasehold._answers(p_ids uuid[], p_others jsonb[])
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp
set enable_nestloop = off set enable_mergejoin = off set jit = off as $$
begin
  if cardinality(p_others) = 0 then
    return coalesce((
      select jsonb_agg(a order by a.id)
      from (select c.id, 'created' as outcome, 'queued' as status from unnest(p_ids) c (id)) a), '[]');
  end if;
  return (
    select jsonb_agg(coalesce(o.other -> 'answer', jsonb_build_object('outcome', 'created', 'id', c.id, 'status', 'queued')) order by c.place)
    from unnest(p_ids) with ordinality c (id, place)
    left join unnest(p_others) o (other) on (o.other ->> 'place')::bigint = c.place);
end
$$;
