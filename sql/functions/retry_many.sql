-- retry_many(filter) → {retried, skipped: [{id, outcome}]}: retry for each job that the filter names,
-- failed and cancelled ones where it names no status. One conflict spoils nothing else.
--   filter  ids · kind · key · owner · status (one or an array) · error_code · limit (1,000, with
--           ids 10,000) · after
-- Locks jobs in the order of (kind, key, id). Errors: LH002, LH003 for the filter.
create or replace function leasehold.retry_many(p_filter jsonb)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_retried int := 0;
  v_skipped jsonb := leasehold._unmatched(p_filter);
  v_id uuid;
  v_outcome text;
begin
  for v_id in select leasehold._bulk_ids(p_filter, array['failed', 'cancelled']) loop
    v_outcome := leasehold._retry(v_id, p_filter ->> 'owner', v_now) ->> 'outcome';
    if v_outcome = 'retried' then
      v_retried := v_retried + 1;
    else
      v_skipped := v_skipped || jsonb_build_object('id', v_id, 'outcome', v_outcome);
    end if;
  end loop;
  return jsonb_build_object('retried', v_retried, 'skipped', v_skipped);
end
$$;
