-- cancel_many(filter) → {cancelled, requested, skipped: [{id, outcome}]}: cancel for each job that the
-- filter names, queued and running ones where it names no status. Filter and order as retry_many.
create or replace function leasehold.cancel_many(p_filter jsonb)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_cancelled int := 0;
  v_requested int := 0;
  v_skipped jsonb := leasehold._unmatched(p_filter);
  v_id uuid;
  v_outcome text;
begin
  for v_id in select leasehold._bulk_ids(p_filter, array['queued', 'running']) loop
    v_outcome := leasehold._cancel(v_id, p_filter ->> 'owner', v_now) ->> 'outcome';
    if v_outcome = 'cancelled' then
      v_cancelled := v_cancelled + 1;
    elsif v_outcome = 'requested' then
      v_requested := v_requested + 1;
    else
      v_skipped := v_skipped || jsonb_build_object('id', v_id, 'outcome', v_outcome);
    end if;
  end loop;
  return jsonb_build_object('cancelled', v_cancelled, 'requested', v_requested, 'skipped', v_skipped);
end
$$;
