-- run_now_many(filter) → {due, skipped: [{id, outcome}]}: run_now for each job that the filter names, queued
-- ones where it names no status. Filter and order as retry_many.
create or replace function leasehold.run_now_many(p_filter jsonb)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_due int := 0;
  -- In this order: what is gone after the wait for the locks was there before it.
  v_skipped jsonb := leasehold._unmatched(p_filter);
  v_ids constant uuid[] := leasehold._bulk_ids(p_filter, array['queued']);
  v_jobs constant leasehold.jobs[] := leasehold._lock_bulk(v_ids);
  v_job leasehold.jobs;
  v_answer jsonb;
begin
  v_skipped := v_skipped || leasehold._vanished(v_ids, v_jobs);
  foreach v_job in array v_jobs loop
    v_answer := leasehold.run_now(v_job.id);
    if v_answer ->> 'outcome' = 'due' then
      v_due := v_due + 1;
    else
      v_skipped := v_skipped || jsonb_build_object('id', v_job.id, 'outcome', v_answer ->> 'outcome');
    end if;
  end loop;
  return jsonb_build_object('due', v_due, 'skipped', v_skipped);
end
$$;
