-- retry_many(filter) → {retried, skipped: [{id, outcome}]}: retry for each job that the filter names,
-- failed and cancelled ones where it names no status. One conflict spoils nothing else.
--   filter  ids · kind · key · owner · status (one or an array) · error_code · limit (1,000, with
--           ids 10,000) · after
-- Jobs that cost credits take a new hold of that, in the order of their accounts; too little available
-- is `insufficient`; a job behind it that wanted the same key is a `conflict` still: call again.
-- Locks jobs in the order of (kind, key, id). Errors: LH002, LH003 for the filter,
-- also for a null in it.
create or replace function leasehold.retry_many(p_filter jsonb)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  -- In this order: what is gone after the wait for the locks was there before it.
  v_skipped jsonb := leasehold._unmatched(p_filter);
  v_ids constant uuid[] := leasehold._bulk_ids(p_filter, array['failed', 'cancelled']);
  v_jobs constant leasehold.jobs[] := leasehold._lock_bulk(v_ids, array['failed', 'cancelled']);
  v_answer jsonb;
begin
  v_skipped := v_skipped || leasehold._vanished(v_ids, v_jobs);
  v_answer := leasehold._retry_many(v_jobs, v_now);
  return v_answer || jsonb_build_object('skipped', v_skipped || (v_answer -> 'skipped'));
end
$$;
