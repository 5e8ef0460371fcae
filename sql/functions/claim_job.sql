-- claim_job(id, lease_ms, worker, timeout_ms) → a row of claimed_job, or none: claim for one named
-- job, reaped first where its lease ran out. None when it is unknown, not queued, not due, of a
-- paused kind, or held by another transaction. Arguments and errors as claim.
create or replace function leasehold.claim_job(
  p_id uuid, p_lease_ms int = null, p_worker text = null, p_timeout_ms int = null)
returns setof leasehold.claimed_job language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_row tid;
  v_kind text;
begin
  perform leasehold._check_claim(p_lease_ms, p_worker, p_timeout_ms);
  perform leasehold._reap(array[p_id], v_now);
  select j.ctid, j.kind into v_row, v_kind from leasehold.jobs j
  where j.id = p_id and j.status || '' = 'queued' and j.run_after <= v_now
    -- A row that was locked when we reaped may be free by now.
    and not leasehold._expired(j, v_now)
    and not exists (select from leasehold.kinds k where k.kind = j.kind and k.paused_at is not null)
  for no key update of j skip locked;
  if found then
    return query select c.id, c.kind, c.key, c.owner, c.payload, c.attempts, c.max_attempts, c.generation,
      c.releases, c.budget_releases, c.run_after, c.lease_until, c.timeout_at, c.trace_context
    from leasehold._claim(array[v_row], array[v_kind], p_lease_ms, p_worker, p_timeout_ms, v_now) c;
  end if;
end
$$;
