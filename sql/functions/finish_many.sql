-- finish_many(outcomes) → {done: [{id, status}], refused: [id], busy: [id]}: many attempts end in one
-- call. outcomes is an array of {id, generation, action: "complete" | "fail" | "release", result?,
-- error?, permanent?, retry_after_ms?, error_code?} with the meanings of complete, fail and release;
-- an error beside "complete" is recorded as the event RESULT_DROPPED.
--   done     with the status each went to; a repeated complete is done
--   refused  not this claim's any more, nothing changed
--   busy     another transaction holds the job, or the account that its credits go back to: nothing
--            changed, call again for these
-- Waits for nobody. Errors: LH002 an id twice, a bad action or value; LH003 an unknown name.
create or replace function leasehold.finish_many(p_outcomes jsonb)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_locked uuid[];
  v_straight uuid[];
  v_done jsonb := '[]';
  v_rest jsonb;
  v_outcome jsonb;
  v_status text;
  v_busy jsonb := '[]';
begin
  perform leasehold._check_outcomes(p_outcomes);
  v_locked := leasehold._lock_claims(p_outcomes);

  -- The straight case in one statement: completed, with nothing else to decide. The locked ids are asked
  -- of the outcome, not of the job: else the planner goes through all outcomes for each job.
  with straight as (
    update leasehold.jobs j set status = 'completed', result = o.result, finished_at = v_now,
      lease_until = null, budget_releases = 0, rerun = null
    from jsonb_to_recordset(p_outcomes) o (id uuid, action text, result jsonb, error jsonb)
    where j.id = o.id and o.id = any (v_locked) and o.action = 'complete' and j.rerun is null and o.error is null
      and j.money is null and j.kind <> 'leasehold.reconcile'
      and (o.result is null or octet_length(o.result::text) <= 1048576)
    returning j.id)
  select array_agg(s.id), coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'status', 'completed')), '[]')
  into v_straight, v_done from straight s;

  for v_outcome in
    select o.value from jsonb_array_elements(p_outcomes) o
    where (o.value ->> 'id')::uuid = any (v_locked) and not (o.value ->> 'id')::uuid = any (coalesce(v_straight, '{}'))
  loop
    v_status := leasehold._finish(v_outcome, v_now);
    if v_status is null then
      v_busy := v_busy || to_jsonb((v_outcome ->> 'id')::uuid);
    else
      v_done := v_done || jsonb_build_object('id', (v_outcome ->> 'id')::uuid, 'status', v_status);
    end if;
  end loop;

  if jsonb_array_length(v_done) + jsonb_array_length(v_busy) = jsonb_array_length(p_outcomes) then
    return jsonb_build_object('done', v_done, 'refused', '[]'::jsonb, 'busy', v_busy);
  end if;
  select jsonb_agg(o.value) into v_rest from jsonb_array_elements(p_outcomes) o
  where not (o.value ->> 'id')::uuid = any (v_locked);
  return leasehold._not_locked(v_rest, v_done, v_busy, v_now);
end
$$;
