-- stats() → {at, kinds: [{kind, paused, queued, due, running, expired, completed, failed, cancelled,
-- oldest_due_ms}]}: the queue in numbers, per kind. due: queued and at or past run_after; expired:
-- past a lease or start_by and not reaped yet; oldest_due_ms: how long the oldest due job waits.
-- Counts every row: some hundred milliseconds with a million jobs.
create or replace function leasehold.stats()
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_kinds jsonb;
begin
  select coalesce(jsonb_agg(jsonb_build_object(
      'kind', s.kind, 'paused', k.paused_at is not null,
      'queued', s.queued, 'due', s.due, 'running', s.running, 'expired', s.expired,
      'completed', s.completed, 'failed', s.failed, 'cancelled', s.cancelled,
      'oldest_due_ms', floor(extract(epoch from v_now - s.oldest_due) * 1000)) order by s.kind), '[]')
  into v_kinds
  from (
    select j.kind,
      count(*) filter (where j.status = 'queued') as queued,
      count(*) filter (where j.status = 'queued' and j.run_after <= v_now) as due,
      count(*) filter (where j.status = 'running') as running,
      count(*) filter (where j.status = 'running' and j.lease_until <= v_now
        or j.status = 'queued' and j.start_by <= v_now) as expired,
      count(*) filter (where j.status = 'completed') as completed,
      count(*) filter (where j.status = 'failed') as failed,
      count(*) filter (where j.status = 'cancelled') as cancelled,
      min(j.run_after) filter (where j.status = 'queued' and j.run_after <= v_now) as oldest_due
    from leasehold.jobs j group by j.kind) s
  left join leasehold.kinds k on k.kind = s.kind;
  return jsonb_build_object('at', leasehold._iso(v_now), 'kinds', v_kinds);
end
$$;
