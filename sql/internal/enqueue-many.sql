-- Enqueueing many jobs in one call.

-- The jobs of one bulk call: names under `once` first, then what has neither name nor key in one
-- statement, then the rest one by one in the order of kind and key.
create or replace function leasehold._enqueue_many(p_jobs jsonb, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_ids uuid[];
  v_kinds text[];
  v_due timestamptz[];
  v_answers jsonb[];
  v_item record;
begin
  perform leasehold._lock_once(p_jobs, p_now);
  with plain as (
    insert into leasehold.jobs
    select n.* from jsonb_array_elements(p_jobs) with ordinality e (job, nth)
    left join leasehold.kinds k on k.kind = e.job ->> 'kind'
    cross join lateral leasehold._new_job(e.job ->> 'kind', coalesce(e.job -> 'payload', '{}'), e.job - array['kind', 'payload'], k, e.nth::int, p_now) n
    where e.job ->> 'key' is null and e.job ->> 'once' is null
    order by e.nth
    returning id, kind, run_after)
  select (select array_agg(p.id order by p.id) from plain p), array_agg(k.kind), array_agg(k.run_after)
  into v_ids, v_kinds, v_due
  from (select p.kind, min(p.run_after) as run_after from plain p group by p.kind) k;
  perform leasehold._wake(w.kind, w.run_after, p_now) from unnest(v_kinds, v_due) w (kind, run_after);
  -- Ids rise in the order of the input, which is how an answer finds its place again. By position, not
  -- by a join: the planner takes the inserted rows for one, and looped 10,000 by 10,000 times (4 s).
  -- What stands in the places of the other jobs is written over below.
  select array_agg(jsonb_build_object('outcome', 'created', 'id', v_ids[e.n], 'status', 'queued') order by e.nth)
  into v_answers
  from (
    select t.nth, count(*) filter (where t.job ->> 'key' is null and t.job ->> 'once' is null) over (order by t.nth) as n
    from jsonb_array_elements(p_jobs) with ordinality t (job, nth)) e;
  for v_item in
    select e.job, e.nth, k as defaults from jsonb_array_elements(p_jobs) with ordinality e (job, nth)
    left join leasehold.kinds k on k.kind = e.job ->> 'kind'
    where e.job ->> 'key' is not null or e.job ->> 'once' is not null
    -- Keys in one order for all calls; what has none waits for nobody and may come first.
    order by e.job ->> 'kind', e.job ->> 'key' nulls first, e.nth
  loop
    v_answers[v_item.nth] := leasehold._enqueue(
      leasehold._new_job(v_item.job ->> 'kind', coalesce(v_item.job -> 'payload', '{}'), v_item.job - array['kind', 'payload'],
        v_item.defaults, v_item.nth::int, p_now),
      v_item.job ->> 'on_conflict', v_item.job ->> 'once', (v_item.job ->> 'once_for_ms')::numeric::bigint, p_now);
  end loop;
  return to_jsonb(coalesce(v_answers, array[]::jsonb[]));
end
$$;

-- The argument of enqueue_many: an array of objects, and the first bad entry named by its index.
create or replace function leasehold._check_jobs(p_jobs jsonb)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_index bigint;
  v_job jsonb;
begin
  perform leasehold._check_array('p_jobs', p_jobs, 'jobs');
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
