-- has_due_work(kinds) → boolean: would a claim of these kinds (null: of all) find something to do, or to
-- reap? False for paused kinds. Locks and writes nothing, so a cron may ask before it starts a drain.
create or replace function leasehold.has_due_work(p_kinds text[] = null)
returns boolean language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_kinds text[];
begin
  if p_kinds is null then
    v_kinds := leasehold._kinds_unfinished();
  else
    v_kinds := leasehold._check_kinds(p_kinds);
  end if;
  return leasehold._is_due(leasehold._unpaused(v_kinds), v_now);
end
$$;
