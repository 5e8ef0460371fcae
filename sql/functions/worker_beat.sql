-- worker_beat(id, state) → {due, next_ms, idle_workers}: a long-running worker says that it is alive,
-- and asks what there is to do: heartbeat, poll and keepalive of its connection in one call.
--   id     a uuid of the worker's own, new at each start of a process
--   state  name (as it gives claim) · kinds · concurrency (1 to 10,000) ·
--          idle (has a free slot and found nothing due: enqueue is to notify) · listening (this very
--          connection listens on the channel named as the schema) · ttl_ms (60,000; not heard of for
--          so long it is not alive any more, at most a day)
-- Answers, for an idle worker: due, whether a claim would find something to do or to reap; next_ms,
-- how long until then where nothing is (null: nothing waits); idle_workers, how many idle ones share a
-- kind with this one. Notifications are "<milliseconds until due> <kind>".
-- Errors: LH002, LH003 for the state.
create or replace function leasehold.worker_beat(p_id uuid, p_state jsonb)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_worker leasehold.workers;
  v_kinds text[];
  v_due boolean := false;
  v_next_ms bigint;
  v_idle_workers int;
begin
  if p_id is null then
    perform leasehold._refuse('p_id', null, 'a uuid of the worker''s own');
  end if;
  v_worker := leasehold._worker(p_id, p_state, v_now);
  if leasehold._keep_worker(v_worker) then
    perform leasehold._sweep_workers(v_now);
  end if;
  if v_worker.idle then
    v_kinds := leasehold._unpaused(v_worker.kinds);
    v_due := leasehold._is_due(v_kinds, v_now);
    if not v_due then
      v_next_ms := leasehold._next_due_ms(v_kinds, v_now);
    end if;
    select count(*) into v_idle_workers from leasehold.workers w
    where w.idle and w.expires_at > v_now and w.kinds && v_worker.kinds;
  end if;
  return jsonb_build_object('due', v_due, 'next_ms', v_next_ms, 'idle_workers', coalesce(v_idle_workers, 0));
end
$$;
