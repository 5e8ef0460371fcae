-- cancel_many(filter) → {cancelled, requested, skipped: [{id, outcome}]}: cancel for each job that the
-- filter names, queued and running ones where it names no status. Filter and order as retry_many; credits go back last, by account.
create or replace function leasehold.cancel_many(p_filter jsonb)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_cancelled int := 0;
  v_requested int := 0;
  v_owed jsonb[] := '{}';
  -- In this order: what is gone after the wait for the locks was there before it.
  v_gone jsonb := leasehold._unmatched(p_filter);
  v_ids constant uuid[] := leasehold._bulk_ids(p_filter, array['queued', 'running']);
  v_jobs constant leasehold.jobs[] := leasehold._lock_bulk(v_ids);
  v_skipped jsonb[] := '{}';
  v_job leasehold.jobs;
  v_answer jsonb;
begin
  v_gone := v_gone || leasehold._vanished(v_ids, v_jobs);
  foreach v_job in array v_jobs loop
    v_answer := leasehold._cancel(v_job.id, p_filter ->> 'owner', v_now, true);
    -- Also where it was an orphan, which a cancel reaps.
    v_owed := array_append(v_owed, leasehold._owed(v_job, v_answer ->> 'status'));
    case v_answer ->> 'outcome'
      when 'cancelled' then v_cancelled := v_cancelled + 1;
      when 'requested' then v_requested := v_requested + 1;
      else v_skipped := array_append(v_skipped, jsonb_build_object('id', v_job.id, 'outcome', v_answer ->> 'outcome'));
    end case;
  end loop;
  perform leasehold._pay(array_remove(v_owed, null));
  return jsonb_build_object('cancelled', v_cancelled, 'requested', v_requested, 'skipped', v_gone || to_jsonb(v_skipped));
end
$$;
