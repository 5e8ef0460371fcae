-- Outcomes of many attempts in one call: finish_many and finish_and_claim.

-- Completes those of many attempts with which there is nothing else to decide, and answers their ids:
-- the claim is valid, nobody holds the row, no rerun waits, and what the job holds is simply captured.
-- p_results stands beside the ids; a null among them, or no array, is no result. A locked row stays where
-- it is, so it is told by its place; each is searched by its id alone, whatever the planner believes of
-- the table.
create or replace function leasehold._complete_straight(
  p_ids uuid[], p_generations int[], p_results jsonb[], p_now timestamptz)
returns uuid[] language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set enable_nestloop = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_rows constant tid[] := leasehold._lock_straight(p_ids, p_generations);
  v_done uuid[];
  v_captured uuid[];
  v_runs int[];
begin
  with straight as (
    update leasehold.jobs j set status = 'completed', result = o.result, finished_at = p_now, lease_until = null,
      budget_releases = 0, rerun = null, money = case when j.money = 'held' then 'captured' else j.money end
    from unnest(p_ids, p_results) o (id, result)
    where j.ctid = any (v_rows) and o.id = j.id
      -- As text a value is at most six times as long.
      and (o.result is null or pg_column_size(o.result) <= 131072 or octet_length(o.result::text) <= 1048576)
    returning j.id, j.run, j.cost)
  select coalesce(array_agg(s.id), '{}'), array_agg(s.id) filter (where s.cost is not null),
    array_agg(s.run) filter (where s.cost is not null)
  into v_done, v_captured, v_runs from straight s;
  if v_captured is not null then
    perform leasehold._capture(v_captured, v_runs, p_now);
  end if;
  return v_done;
end
$$;

-- The rows of those claims, locked, that are valid and may end straight. Waits for nobody.
create or replace function leasehold._lock_straight(p_ids uuid[], p_generations int[])
returns tid[] language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
begin
  return array(
    select l.place from unnest(p_ids, p_generations) o (id, generation) cross join lateral (
      select j.ctid as place from leasehold.jobs j
      where j.id = o.id and j.generation + 0 = o.generation and j.status || '' = 'running' and j.rerun is null
        and (j.money is null or (j.money = 'held' and not j.external)) and j.kind <> 'leasehold.reconcile'
      limit 1 for no key update skip locked) l);
end
$$;

-- The outcomes of other jobs than these.
create or replace function leasehold._outcomes_but(p_ids uuid[], p_outcomes jsonb)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp
set enable_nestloop = off set enable_mergejoin = off set jit = off set plan_cache_mode = force_generic_plan as $$
begin
  if cardinality(p_ids) = jsonb_array_length(p_outcomes) then
    return '[]';
  end if;
  return coalesce(jsonb_agg(o.value), '[]') from jsonb_array_elements(p_outcomes) o
  where not exists (select from unnest(p_ids) d (id) where d.id = (o.value ->> 'id')::uuid);
end
$$;

-- The outcomes that are no straight completions, one by one: {done: [{id, status}], refused, busy}.
create or replace function leasehold._finish_each(p_outcomes jsonb, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_locked constant uuid[] := leasehold._lock_claims(p_outcomes);
  v_done jsonb := '[]';
  v_busy jsonb := '[]';
  v_outcome jsonb;
  v_status text;
begin
  for v_outcome in
    select o.value from jsonb_array_elements(p_outcomes) o where (o.value ->> 'id')::uuid = any (v_locked)
  loop
    v_status := leasehold._finish(v_outcome, p_now);
    if v_status is null then
      v_busy := v_busy || to_jsonb((v_outcome ->> 'id')::uuid);
    else
      v_done := v_done || jsonb_build_object('id', (v_outcome ->> 'id')::uuid, 'status', v_status);
    end if;
  end loop;
  return leasehold._not_locked(leasehold._outcomes_but(v_locked, p_outcomes), v_done, v_busy, p_now);
end
$$;

-- The outcomes of finish_and_claim; null where all of them are straight completions.
create or replace function leasehold._finish_all(
  p_completed uuid[], p_generations int[], p_results jsonb, p_outcomes jsonb, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_results jsonb[];
  v_straight uuid[];
  v_rest jsonb;
begin
  perform leasehold._check_completed(p_completed, p_generations, p_results, p_outcomes);
  v_results := array(select nullif(r, 'null') from jsonb_array_elements(p_results) r);
  v_straight := leasehold._complete_straight(p_completed, p_generations, v_results, p_now);
  if cardinality(v_straight) = cardinality(p_completed) and p_outcomes = '[]' then
    return null;
  end if;
  v_rest := coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'generation', c.generation, 'action', 'complete', 'result', c.result)), '[]')
    from unnest(p_completed, p_generations, v_results) c (id, generation, result);
  return leasehold._finish_each(leasehold._outcomes_but(v_straight, v_rest) || p_outcomes, p_now);
end
$$;

-- One outcome of finish_many that is not a straight completion; its claim is valid and locked. Null
-- where it would have to wait for an account, or for the job that it settles.
create or replace function leasehold._finish(p_outcome jsonb, p_now timestamptz)
returns text language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_job leasehold.jobs;
  v_retry_after_ms constant bigint := p_outcome ->> 'retry_after_ms';
  v_error constant jsonb := nullif(p_outcome -> 'error', 'null');
begin
  select j.* into v_job from leasehold.jobs j where j.id = (p_outcome ->> 'id')::uuid;
  if not leasehold._money_free(v_job, p_outcome ->> 'action', (p_outcome ->> 'permanent')::boolean) then
    return null;
  end if;
  case p_outcome ->> 'action'
    when 'fail' then
      return leasehold._fail(v_job, v_error, coalesce((p_outcome ->> 'permanent')::boolean, false), v_retry_after_ms, p_now);
    when 'release' then
      return leasehold._release(v_job, coalesce(v_retry_after_ms, 0), p_outcome ->> 'error_code', p_now);
    else
      if v_error is not null then
        perform leasehold._event(v_job.id, 'result_dropped', v_job.generation, p_now, 'RESULT_DROPPED',
          left(v_error ->> 'message', 4000));
      end if;
      return leasehold._complete(v_job, nullif(p_outcome -> 'result', 'null'), p_now);
  end case;
end
$$;

-- The outcomes that found no valid claim to lock: done before, held by another transaction, or
-- refused, which leaves a trace.
create or replace function leasehold._not_locked(p_outcomes jsonb, p_done jsonb, p_busy jsonb, p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_done jsonb := p_done;
  v_refused jsonb := '[]';
  v_busy jsonb := p_busy;
  v_outcome jsonb;
  v_id uuid;
  v_generation int;
begin
  for v_outcome in select o.value from jsonb_array_elements(p_outcomes) o loop
    v_id := v_outcome ->> 'id';
    v_generation := v_outcome ->> 'generation';
    if exists (select from leasehold.jobs j
      where j.id = v_id and j.generation + 0 = v_generation and j.status || '' = 'running') then
      v_busy := v_busy || to_jsonb(v_id);
    elsif v_outcome ->> 'action' = 'complete' and leasehold._was_completed(v_id, v_generation) then
      v_done := v_done || jsonb_build_object('id', v_id, 'status', (select j.status from leasehold.jobs j where j.id = v_id));
    else
      perform leasehold._refused(v_id, v_generation, v_outcome ->> 'action', p_now);
      v_refused := v_refused || to_jsonb(v_id);
    end if;
  end loop;
  return jsonb_build_object('done', v_done, 'refused', v_refused, 'busy', v_busy);
end
$$;
