-- extend(id, generation, lease_ms, progress) → {held, lease_until, cancel_requested, busy}: renews a
-- lease, by the claim's own length where lease_ms is null, never beyond timeout_at.
--   held false: another claim owns the job, or it has ended; stop, the result will be refused
--   busy true:  somebody holds the row (a guard in an open transaction, say); the claim stands and
--               nobody can reap it meanwhile, but the lease was not renewed: call again
--   progress    any JSON up to 1 MB, shown by status; null leaves the last one
-- Waits for nobody. A claim whose lease ran out but was not reaped is still held.
-- Errors: LH002 lease_ms below 1; LH004 progress over 1 MB.
create or replace function leasehold.extend(
  p_id uuid, p_generation int, p_lease_ms int = null, p_progress jsonb = null)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_job leasehold.jobs;
begin
  if p_lease_ms is not null then
    perform leasehold._check_int('p_lease_ms', p_lease_ms, 1, 2147483647);
  end if;
  perform leasehold._check_size('p_progress', p_progress);
  select j.* into v_job from leasehold.jobs j
  where j.id = p_id and j.generation + 0 = p_generation and j.status || '' = 'running'
  for no key update skip locked;
  if found then
    update leasehold.jobs j set
      lease_until = least(v_now + coalesce(p_lease_ms, j.lease_ms) * interval '1 millisecond', j.timeout_at),
      progress = coalesce(p_progress, j.progress)
    where j.id = p_id
    returning j.* into v_job;
    return leasehold._held(v_job, false);
  end if;
  -- Not locked: either somebody else holds the row, or the claim is not valid any more.
  select j.* into v_job from leasehold.jobs j
  where j.id = p_id and j.generation + 0 = p_generation and j.status || '' = 'running';
  if found then
    return leasehold._held(v_job, true);
  end if;
  perform leasehold._refused(p_id, p_generation, 'extend', v_now);
  return leasehold._not_held();
end
$$;
