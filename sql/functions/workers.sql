-- workers() → {at, workers: [{id, name, kinds, concurrency, running, idle, idle_since, listening,
-- started_at, seen_at}]}: the long-running workers that are alive, the oldest first. One that was
-- killed is not among them once its listening connection is gone, at the latest when its time is over.
-- running: the jobs that it has in hand. Drains and in-process starts are no workers and not listed.
create or replace function leasehold.workers()
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_workers jsonb;
begin
  if current_setting('transaction_read_only') = 'off' then
    perform leasehold._sweep_workers(v_now);
  end if;
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', w.id, 'name', w.name, 'kinds', w.kinds, 'concurrency', w.concurrency,
      'running', coalesce(r.jobs, 0),
      'idle', w.idle, 'idle_since', leasehold._iso(w.idle_since), 'listening', w.listener is not null,
      'started_at', leasehold._iso(w.started_at), 'seen_at', leasehold._iso(w.seen_at)) order by w.started_at, w.id), '[]')
  into v_workers
  from leasehold.workers w
  left join (
    select j.worker, count(*) as jobs from leasehold.jobs j where j.status = 'running' group by j.worker) r
    on r.worker = w.name
  where w.expires_at > v_now;
  return jsonb_build_object('at', leasehold._iso(v_now), 'workers', v_workers);
end
$$;
