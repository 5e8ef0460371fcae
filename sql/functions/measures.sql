-- measures(since) → {at, from, to, limit, kinds: [{kind, paused, due, waiting, running, expired, oldest_due_ms,
-- lease_expiries, refused_writes}]}: the queue in numbers, for metrics that are read again and again. For every
-- kind that was defined, has unfinished jobs, or has either of the last two. Each number is counted up to
-- `limit`: one that equals it means at least so many.
--   due        queued, and it is time · waiting: queued for later · expired: anyone may reap it
--   oldest_due_ms   how long the oldest due job waits; null: none is due
--   lease_expiries  reaped from `from` to `to` because a lease ran out · refused_writes: writes of claims
--              that were not valid any more, in that time. Of jobs that are gone since nothing is known.
-- since: from when on; an hour ago by default, 31 days at most. `to` is 5 s ago, since what commits late would
-- be missed; pass it as the next call's since, and nothing is counted twice. Errors: LH002 outside of that.
create or replace function leasehold.measures(p_since timestamptz = null)
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_limit constant int := 10000;
  v_to constant timestamptz := v_now - interval '5 seconds';
  v_from constant timestamptz := least(coalesce(p_since, v_now - interval '1 hour'), v_to);
  v_kinds jsonb;
begin
  if v_from < v_now - interval '31 days' or not isfinite(coalesce(p_since, v_now)) then
    perform leasehold._refuse('p_since', p_since::text, 'a time of the last 31 days');
  end if;
  with lapse as materialized (
    select j.kind, count(*) filter (where l.event = 'reaped') as lease_expiries, count(*) filter (where l.event = 'refused') as refused_writes
    from (
      select e.job_id, e.event from leasehold.job_events e
      where (e.event = 'refused' or e.event = 'reaped' and e.code = 'LEASE_EXPIRED') and e.at > v_from and e.at <= v_to
      order by e.at desc limit v_limit) l
    join leasehold.jobs j on j.id = l.job_id group by j.kind),
  named as (
    select d.kind from leasehold.kinds d union select unnest(leasehold._kinds_unfinished()) union select l.kind from lapse l)
  select coalesce(jsonb_agg(jsonb_build_object('kind', n.kind, 'paused', k.paused_at is not null,
      'due', q.due, 'waiting', q.waiting, 'running', r.running, 'expired', r.expired,
      'oldest_due_ms', floor(extract(epoch from v_now - q.oldest) * 1000),
      'lease_expiries', coalesce(l.lease_expiries, 0), 'refused_writes', coalesce(l.refused_writes, 0)) order by n.kind), '[]')
  into v_kinds
  from named n
  left join leasehold.kinds k on k.kind = n.kind
  left join lapse l on l.kind = n.kind
  cross join lateral leasehold._queued_now(v_limit, v_now, n.kind) q
  cross join lateral leasehold._running_now(v_limit, v_now, n.kind) r;
  return jsonb_build_object('at', leasehold._iso(v_now), 'from', leasehold._iso(v_from), 'to', leasehold._iso(v_to),
    'limit', v_limit, 'kinds', v_kinds);
end
$$;
