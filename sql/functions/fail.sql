-- fail(id, generation, error, permanent, retry_after_ms) → text: the attempt failed. Answers where the
-- job went: queued (it will be tried again), failed, cancelled (a cancel was requested); null: not
-- yours any more, nothing changed.
--   error           {code, message, details?}; code and message are cut at 100 and 4,000 characters,
--                   details over 64 kB are left out: recording a failure must not fail
--   permanent       true: no further attempt
--   retry_after_ms  replaces the kind's backoff (1, 5, 15, 60 minutes plus 0 to 5 %); above 24 hours
--                   it counts as 24 hours
-- Errors: LH002 when error is no object or retry_after_ms is negative.
create or replace function leasehold.fail(
  p_id uuid, p_generation int, p_error jsonb, p_permanent boolean = false, p_retry_after_ms int = null)
returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_job leasehold.jobs;
begin
  perform leasehold._check_failure(p_error, p_retry_after_ms);
  v_job := leasehold._lock_claim(p_id, p_generation);
  if v_job.id is null then
    perform leasehold._refused(p_id, p_generation, 'fail', v_now);
    return null;
  end if;
  return leasehold._fail(v_job, p_error, coalesce(p_permanent, false), p_retry_after_ms, v_now);
end
$$;
