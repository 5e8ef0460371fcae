-- release(id, generation, retry_after_ms, error_code) → boolean: gives the job back unfinished for a
-- reason that is not its fault: queued again after the delay, the attempt not counted. False: not
-- yours any more, nothing changed. The fifth BUDGET_EXCEEDED in a row should be a fail instead: the
-- claim tells their number (budget_releases). Ten releases in a row leave an event.
-- Errors: LH002 when retry_after_ms is null or negative.
create or replace function leasehold.release(
  p_id uuid, p_generation int, p_retry_after_ms int = 0, p_error_code text = null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_job leasehold.jobs;
begin
  perform leasehold._check_int('p_retry_after_ms', p_retry_after_ms, 0, 2147483647);
  v_job := leasehold._lock_claim(p_id, p_generation);
  if v_job.id is null then
    perform leasehold._refused(p_id, p_generation, 'release', v_now);
    return false;
  end if;
  perform leasehold._release(v_job, p_retry_after_ms, p_error_code, v_now);
  return true;
end
$$;
