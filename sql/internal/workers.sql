-- Long-running workers: who is alive, who wants to be told of new jobs, and telling them.

-- Tells idle workers of this kind that a job is due at p_run_after: at once with the commit, and
-- never with a rollback. Only where some worker is idle, since every notification takes its turn at
-- one lock of the whole server at commit (14,200 enqueues/s fell to 3,600); one that is dead and not
-- swept yet must not cost that for good. A worker that goes idle meanwhile looks again; what is
-- further away than an hour is found by its polling.
create or replace function leasehold._wake(p_kind text, p_run_after timestamptz, p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from leasehold.workers w where w.idle and w.expires_at > p_now and p_kind = any (w.kinds) limit 1;
  if found and p_run_after <= p_now + interval '1 hour' then
    perform pg_notify('{{schema}}', format('%s %s',
      greatest(ceil(extract(epoch from p_run_after - p_now) * 1000), 0), p_kind));
  end if;
end
$$;

-- The same for many new jobs: each kind is told of its first.
create or replace function leasehold._wake_many(p_ids uuid[], p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
begin
  perform from leasehold.workers w where w.idle and w.expires_at > p_now limit 1;
  if found then
    perform leasehold._wake(n.kind, n.run_after, p_now)
    from (select j.kind, min(j.run_after) as run_after from leasehold.jobs j where j.id = any (p_ids) group by j.kind) n;
  end if;
end
$$;

-- The row of a worker out of what its beat says.
create or replace function leasehold._worker(p_id uuid, p_state jsonb, p_now timestamptz)
returns leasehold.workers language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_worker leasehold.workers;
begin
  perform leasehold._check_options('p_state', p_state,
    array['name', 'kinds', 'concurrency', 'idle', 'listening', 'ttl_ms']);
  v_worker.id := p_id;
  v_worker.name := leasehold._json_text('name', p_state -> 'name');
  perform leasehold._check_text('name', v_worker.name, 500);
  v_worker.kinds := leasehold._json_kinds(p_state -> 'kinds');
  v_worker.concurrency := leasehold._json_int('concurrency', p_state -> 'concurrency', 1, 10000);
  v_worker.idle := leasehold._json_boolean('idle', p_state -> 'idle');
  v_worker.listener := case when leasehold._json_boolean('listening', p_state -> 'listening') then pg_backend_pid() end;
  v_worker.seen_at := p_now;
  v_worker.expires_at := p_now
    + leasehold._json_int('ttl_ms', coalesce(p_state -> 'ttl_ms', '60000'), 1, 86400000) * interval '1 millisecond';
  return v_worker;
end
$$;

-- Writes a worker's row where there is something new to say, or a third of its time has passed: with
-- a transaction that holds the horizon every write leaves a dead row for `_wake` to walk over.
create or replace function leasehold._keep_worker(p_worker leasehold.workers)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from leasehold.workers w
  where w.id = p_worker.id and w.name = p_worker.name and w.kinds = p_worker.kinds
    and w.concurrency = p_worker.concurrency and w.idle = p_worker.idle
    and w.listener is not distinct from p_worker.listener
    and w.expires_at - w.seen_at = p_worker.expires_at - p_worker.seen_at
    and p_worker.seen_at < w.seen_at + (w.expires_at - w.seen_at) / 3;
  if found then
    return false;
  end if;
  insert into leasehold.workers as w
    (id, name, kinds, concurrency, idle, idle_since, listener, started_at, seen_at, expires_at)
  values (p_worker.id, p_worker.name, p_worker.kinds, p_worker.concurrency, p_worker.idle,
    case when p_worker.idle then p_worker.seen_at end, p_worker.listener, p_worker.seen_at, p_worker.seen_at,
    p_worker.expires_at)
  on conflict (id) do update set
    name = excluded.name,
    kinds = excluded.kinds,
    concurrency = excluded.concurrency,
    idle = excluded.idle,
    idle_since = case when excluded.idle then coalesce(w.idle_since, excluded.idle_since) end,
    listener = excluded.listener,
    seen_at = excluded.seen_at,
    expires_at = excluded.expires_at;
  return true;
end
$$;

-- Deletes the rows of workers that are gone: not heard of in their time, or their listening
-- connection has ended, which a killed process shows at once. A living one that merely lost its
-- connection writes its row again with its next beat.
create or replace function leasehold._sweep_workers(p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  delete from leasehold.workers d where d.id in (
    select w.id from leasehold.workers w
    where w.expires_at <= p_now
      or (w.listener is not null and not exists (select from pg_stat_get_activity(w.listener)))
    for update skip locked);
end
$$;

-- Milliseconds until something of these kinds, of which nothing is due, is due or may be reaped; null:
-- nothing is waiting.
create or replace function leasehold._next_due_ms(p_kinds text[], p_now timestamptz)
returns bigint language plpgsql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_priority int := -32769;
  v_at timestamptz;
  v_next timestamptz;
begin
  -- No start_by: it is never before run_after, so a queued job is due before it may be reaped.
  select min(f.lease_until) into v_next from unnest(p_kinds) k (kind) cross join lateral (
    select j.lease_until from leasehold.jobs j
    where j.status = 'running' and j.kind = k.kind and j.lease_until > p_now order by j.lease_until limit 1) f;
  loop
    v_priority := leasehold._next_priority(p_kinds, v_priority, null);
    exit when v_priority is null;
    select min(f.run_after) into v_at from unnest(p_kinds) k (kind) cross join lateral (
      select j.run_after from leasehold.jobs j
      where j.status = 'queued' and j.kind = k.kind and j.priority = v_priority and j.run_after > p_now
      order by j.run_after, j.id limit 1) f;
    v_next := least(v_next, v_at);
  end loop;
  return ceil(extract(epoch from v_next - p_now) * 1000);
end
$$;
