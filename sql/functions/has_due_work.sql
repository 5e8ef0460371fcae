-- has_due_work(kinds) → boolean: would a claim of these kinds (null: of all) find something to do, or to
-- reap? False for paused kinds. Locks and writes nothing, so a cron may ask before it starts a drain.
create or replace function leasehold.has_due_work(p_kinds text[] = null)
returns boolean language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_kinds text[];
begin
  v_kinds := leasehold._unpaused(case
    when p_kinds is null then leasehold._kinds_unfinished() else leasehold._check_kinds(p_kinds) end);
  return cardinality(v_kinds) > 0 and (leasehold._has_due(v_kinds, v_now)
    or cardinality(leasehold._expired_ids(v_kinds, 1, v_now)) > 0);
end
$$;
