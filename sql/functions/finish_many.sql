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
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_straight uuid[];
  v_done jsonb;
  v_rest jsonb;
begin
  perform leasehold._check_outcomes(p_outcomes);
  v_straight := leasehold._complete_straight(array_agg(o.id), array_agg(o.generation), array_agg(o.result), v_now)
    from jsonb_to_recordset(p_outcomes) o (id uuid, generation int, action text, result jsonb, error jsonb)
    where o.action = 'complete' and o.error is null;
  select coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'status', 'completed')), '[]') into v_done
  from unnest(v_straight) s (id);
  v_rest := leasehold._outcomes_but(v_straight, p_outcomes);
  if v_rest = '[]' then
    return jsonb_build_object('done', v_done, 'refused', '[]'::jsonb, 'busy', '[]'::jsonb);
  end if;
  v_rest := leasehold._finish_each(v_rest, v_now);
  return v_rest || jsonb_build_object('done', v_done || (v_rest -> 'done'));
end
$$;
