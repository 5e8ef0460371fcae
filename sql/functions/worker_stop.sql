-- worker_stop(id) → boolean: a worker takes its leave. True when it was known. Its jobs are its own
-- to finish or release before; what it leaves running comes back when the leases run out.
create or replace function leasehold.worker_stop(p_id uuid)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_known boolean;
begin
  delete from leasehold.workers w where w.id = p_id;
  v_known := found;
  perform leasehold._sweep_workers(v_now);
  return v_known;
end
$$;
