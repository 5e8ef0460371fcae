-- enqueue_many(jobs) → [{outcome, id, status, holder?}, …]: many jobs in one call, answers in the
-- order of the input. jobs is an array of objects with kind, payload and the options of enqueue;
-- a conflict spoils nothing else, a bad value refuses the whole call and names the job's index.
-- Names under `once` are locked in their order, then keys in theirs, so that overlapping calls wait
-- for each other and never deadlock; jobs without either are inserted in one statement.
-- Errors: as enqueue; LH002 also when jobs is no array or has more than 10,000 entries.
create or replace function leasehold.enqueue_many(p_jobs jsonb)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_answers jsonb[];
  v_item record;
begin
  perform leasehold._check_jobs(p_jobs);
  perform leasehold._lock_once(p_jobs, v_now);
  with plain as (
    insert into leasehold.jobs
    select n.* from jsonb_array_elements(p_jobs) with ordinality e (job, nth)
    left join leasehold.kinds k on k.kind = e.job ->> 'kind'
    cross join lateral leasehold._new_job(e.job ->> 'kind', e.job -> 'payload', e.job - array['kind', 'payload'], k, e.nth::int, v_now) n
    where e.job ->> 'key' is null and e.job ->> 'once' is null
    order by e.nth
    returning id)
  -- Ids rise in the order of the input, which is how an answer finds its place again.
  select array_agg(jsonb_build_object('outcome', 'created', 'id', p.id, 'status', 'queued') order by e.nth)
  into v_answers
  from (select row_number() over (order by id) as n, id from plain) p
  right join (
    select nth, case when job ->> 'key' is null and job ->> 'once' is null
      then count(*) filter (where job ->> 'key' is null and job ->> 'once' is null) over (order by nth) end as n
    from jsonb_array_elements(p_jobs) with ordinality t (job, nth)) e on e.n = p.n;
  for v_item in
    select e.job, e.nth, k as defaults from jsonb_array_elements(p_jobs) with ordinality e (job, nth)
    left join leasehold.kinds k on k.kind = e.job ->> 'kind'
    where e.job ->> 'key' is not null or e.job ->> 'once' is not null
    -- The first of each name goes before its repetitions, whatever their keys.
    order by case when e.job ->> 'once' is null then 1 else row_number() over (
      partition by e.job ->> 'kind', e.job ->> 'owner', e.job ->> 'once' order by e.nth) end,
      e.job ->> 'kind', e.job ->> 'key', e.nth
  loop
    v_answers[v_item.nth] := leasehold._enqueue(
      leasehold._new_job(v_item.job ->> 'kind', v_item.job -> 'payload', v_item.job - array['kind', 'payload'],
        v_item.defaults, v_item.nth::int, v_now),
      v_item.job ->> 'on_conflict', v_item.job ->> 'once', (v_item.job ->> 'once_for_ms')::numeric::bigint, v_now);
  end loop;
  return to_jsonb(coalesce(v_answers, array[]::jsonb[]));
end
$$;
