-- overview(period_ms) → jsonb: how the queue is, at a glance. Bounded: some ten milliseconds with a
-- million jobs. What is counted is counted up to `limit`: a number that equals it means at least so many.
--   {at, limit, due, waiting, running, expired, oldest_due_ms, failed, paused, alerts, workers, ended, drains}
--   due      queued, and it is time · waiting: queued for later · expired: anyone may reap it
--   oldest_due_ms  how long the oldest due job waits; null: none is due
--   failed   ended as failed in the period
--   paused   the kinds that are paused
--   alerts   {open, critical}: those that nobody has acknowledged, and the critical ones of them
--   workers  the long-running workers that are alive, as workers() counts them
--   ended    {from, to, part_ms, estimated, completed, failed, cancelled}: what ended in the period, in 60
--            parts of equal length, the oldest first. Read from a sample of the table where that is large.
--   drains   {trigger, at, report}, the last drain of each trigger, as note_drain was told
-- period_ms: a minute to 31 days, a day by default. Errors: LH002 outside of that.
create or replace function leasehold.overview(p_period_ms bigint = 86400000)
returns jsonb language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_limit constant int := 10000;
  v_parts constant int := 60;
  v_part_ms constant bigint := p_period_ms / v_parts;
  v_from constant timestamptz := v_now - v_part_ms * v_parts * interval '1 millisecond';
  v_queued record;
  v_running record;
begin
  perform leasehold._check_int('p_period_ms', p_period_ms, 60000, 2678400000);
  select q.* into v_queued from leasehold._queued_now(v_limit, v_now) q;
  select r.* into v_running from leasehold._running_now(v_limit, v_now) r;
  return jsonb_build_object('at', leasehold._iso(v_now), 'limit', v_limit,
    'due', v_queued.due, 'waiting', v_queued.waiting, 'running', v_running.running, 'expired', v_running.expired,
    'oldest_due_ms', floor(extract(epoch from v_now - v_queued.oldest) * 1000),
    'failed', (
      select count(*) from (
        select from leasehold.jobs j where j.status = 'failed' and j.finished_at >= v_from limit v_limit) f),
    'paused', (select coalesce(jsonb_agg(k.kind order by k.kind), '[]') from leasehold.kinds k where k.paused_at is not null),
    'alerts', (
      select jsonb_build_object('open', count(*), 'critical', count(*) filter (where a.severity = 'critical'))
      from (select n.severity from leasehold.alerts n where n.acknowledged_at is null order by n.id desc limit v_limit) a),
    'workers', (select count(*) from leasehold.workers w where w.expires_at > v_now),
    'ended', leasehold._ended(v_from, v_part_ms, v_parts) || jsonb_build_object(
      'from', leasehold._iso(v_from), 'to', leasehold._iso(v_now), 'part_ms', v_part_ms),
    'drains', (
      select coalesce(jsonb_agg(jsonb_build_object('trigger', d.trigger, 'at', leasehold._iso(d.at), 'report', d.report) order by d.trigger), '[]')
      from leasehold.drains d));
end
$$;
