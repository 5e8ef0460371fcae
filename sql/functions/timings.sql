-- timings(sample) → {at, kinds: [{kind, sample, failed, run_p50_ms, run_p95_ms, run_max_ms, wait_p50_ms,
-- wait_p95_ms, lease_ms, last_finished_at}]}: how long jobs of each kind took of late, out of the last
-- `sample` that ended (200; fewer where there are more than 100 kinds).
--   failed    how many of them ended as failed
--   run       from the last claim to the end, of those that completed · wait: from the moment that a job
--             was due until its last claim
--   lease_ms  the shortest lease of them: a run beyond it needs renewals to survive
-- Errors: LH002 for a sample outside of 1 to 1,000.
create or replace function leasehold.timings(p_sample int = 200)
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_kinds constant text[] := leasehold._kinds_finished();
  v_sample int;
  v_answer jsonb;
begin
  perform leasehold._check_int('p_sample', p_sample, 1, 1000);
  v_sample := least(p_sample, greatest(20000 / greatest(cardinality(v_kinds), 1), 1));
  select coalesce(jsonb_agg(jsonb_build_object('kind', k.kind, 'sample', t.sample, 'failed', t.failed,
      'run_p50_ms', round(t.run[1]), 'run_p95_ms', round(t.run[2]), 'run_max_ms', round(t.run[3]),
      'wait_p50_ms', round(t.wait[1]), 'wait_p95_ms', round(t.wait[2]),
      'lease_ms', t.lease_ms, 'last_finished_at', leasehold._iso(t.last)) order by k.kind), '[]')
  into v_answer
  from unnest(v_kinds) k (kind) cross join lateral (
    select count(*) as sample, count(*) filter (where l.status = 'failed') as failed,
      percentile_cont(array[0.5, 0.95, 1]) within group (order by extract(epoch from l.finished_at - l.claimed_at)::float8 * 1000)
        filter (where l.status = 'completed' and l.claimed_at is not null) as run,
      percentile_cont(array[0.5, 0.95]) within group (order by greatest(extract(epoch from l.claimed_at - l.run_after)::float8 * 1000, 0))
        filter (where l.claimed_at is not null) as wait,
      min(l.lease_ms) as lease_ms, max(l.finished_at) as last
    from (
      select j.status, j.finished_at, j.claimed_at, j.run_after, j.lease_ms from leasehold.jobs j
      where j.kind = k.kind and j.status in ('completed', 'failed', 'cancelled')
      order by j.finished_at desc limit v_sample) l) t;
  return jsonb_build_object('at', leasehold._iso(clock_timestamp()), 'kinds', v_answer);
end
$$;
