-- claim(kinds, limit, lease_ms, worker, timeout_ms, except, after) → rows of claimed_job: takes due
-- jobs for this worker. First reaps jobs of these kinds whose lease or start_by ran out (at most
-- greatest(limit, 100)); then hands out queued ones by priority, run_after, id. Each claim adds 1
-- to attempts and generation. Waits for nobody: rows that others hold are skipped.
--   limit       1 to 10,000; never more are handed out, under any plan
--   lease_ms    else the kind's, else 5 minutes; never beyond the timeout
--   timeout_ms  of this attempt; else the kind's, else 1 hour
--   worker      a name, for diagnosis only
--   except      ids not to hand out
--   after       {"<priority>": {"run_after", "id"}}: in that priority, look only from there on; a
--               worker passes where its last claim ended, and null once a second for a full look
-- Never a paused kind, never a job before its run_after or past its start_by. No row: nothing due.
-- Errors: LH002 for empty or null kinds and for values out of bounds.
create or replace function leasehold.claim(
  p_kinds text[], p_limit int = 1, p_lease_ms int = null, p_worker text = null, p_timeout_ms int = null,
  p_except uuid[] = null, p_after jsonb = null)
returns setof leasehold.claimed_job language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_kinds constant text[] := leasehold._check_kinds(p_kinds);
begin
  perform leasehold._check_int('p_limit', p_limit, 1, 10000);
  perform leasehold._check_claim(p_lease_ms, p_worker, p_timeout_ms);
  perform leasehold._check_after(p_after);
  return query select c.id, c.kind, c.key, c.owner, c.payload, c.attempts, c.max_attempts, c.generation,
    c.releases, c.budget_releases, c.run_after, c.lease_until, c.timeout_at, c.trace_context
  from leasehold._claim_due(v_kinds, p_limit, p_lease_ms, p_worker, p_timeout_ms, p_except, p_after, true, v_now) c;
end
$$;
