-- complete(id, generation, result) → boolean: the job is done. False: not yours any more, nothing
-- changed, the result is not kept. True again for a repetition after a lost answer.
-- A result over 1 MB of JSON text is dropped with an event RESULT_DROPPED: the job still completes,
-- since the work is done and paid. A requested cancel comes too late; a pending rerun begins.
-- Waits for a transaction that holds the job (a reap that has not committed), and then decides.
create or replace function leasehold.complete(p_id uuid, p_generation int, p_result jsonb = null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_job leasehold.jobs := leasehold._lock_claim(p_id, p_generation);
begin
  if v_job.id is not null then
    perform leasehold._complete(v_job, p_result, v_now);
    return true;
  elsif leasehold._was_completed(p_id, p_generation) then
    return true;
  end if;
  perform leasehold._refused(p_id, p_generation, 'complete', v_now);
  return false;
end
$$;
