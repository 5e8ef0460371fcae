-- remove_many(filter) → {removed, skipped: [{id, outcome}]}: remove for each job that the filter names,
-- finished ones where it names no status. Filter and order as retry_many.
create or replace function leasehold.remove_many(p_filter jsonb)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_finished constant text[] := array['completed', 'failed', 'cancelled'];
  v_removed int := 0;
  -- In this order: what is gone after the wait for the locks was there before it.
  v_skipped jsonb := leasehold._unmatched(p_filter);
  v_ids constant uuid[] := leasehold._bulk_ids(p_filter, v_finished);
  v_jobs constant leasehold.jobs[] := leasehold._lock_bulk(v_ids, v_finished);
  v_job leasehold.jobs;
  v_answer jsonb;
begin
  v_skipped := v_skipped || leasehold._vanished(v_ids, v_jobs);
  foreach v_job in array v_jobs loop
    v_answer := case when v_job.status = any (v_finished) then leasehold.remove(v_job.id)
      else jsonb_build_object('outcome', 'wrong_status') end;
    if v_answer ->> 'outcome' = 'removed' then
      v_removed := v_removed + 1;
    else
      v_skipped := v_skipped || jsonb_build_object('id', v_job.id, 'outcome', v_answer ->> 'outcome');
    end if;
  end loop;
  return jsonb_build_object('removed', v_removed, 'skipped', v_skipped);
end
$$;
