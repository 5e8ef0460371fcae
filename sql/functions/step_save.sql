-- step_save(id, generation, name, value, lease_ms) → boolean: stores what a durable step has answered,
-- for the job's next attempt, and renews the lease as extend does, though never to an earlier end. The
-- first value of a name stays: true also where one is stored already. False: not yours any more,
-- nothing stored.
--   name   1 to 500 bytes of text, not blank
--   value  any JSON up to 1 MB; SQL null is stored as JSON's null
-- Kept through failures, releases and retry; deleted with the job, by a rerun, and where a replace
-- gives the job another payload. Waits for a transaction that holds the job, and then decides.
-- Errors: LH002 the name or lease_ms; LH004 a value over 1 MB.
create or replace function leasehold.step_save(
  p_id uuid, p_generation int, p_name text, p_value jsonb, p_lease_ms int = null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_job leasehold.jobs;
begin
  perform leasehold._check_text('p_name', p_name, 500);
  perform leasehold._check_size('p_value', p_value);
  if p_lease_ms is not null then
    perform leasehold._check_int('p_lease_ms', p_lease_ms, 1, 2147483647);
  end if;
  v_job := leasehold._lock_claim(p_id, p_generation);
  if v_job.id is null then
    perform leasehold._refused(p_id, p_generation, 'step_save', v_now);
    return false;
  end if;
  insert into leasehold.steps (job_id, name, value, generation, saved_at)
  values (p_id, p_name, coalesce(p_value, 'null'), p_generation, v_now)
  on conflict (job_id, name) do nothing;
  -- Never shorter than it is: an extend may have come while this waited for the row.
  update leasehold.jobs j
  set lease_until = least(greatest(v_now + coalesce(p_lease_ms, j.lease_ms) * interval '1 millisecond', j.lease_until), j.timeout_at)
  where j.id = p_id;
  return true;
end
$$;
