-- prune(options) → {deleted}: deletes finished jobs with their events and steps, and names under `once` whose
-- time is over, as are values of the cache. Unfinished jobs, those whose money is not settled, and names
-- in force always stay; holds and entries do too.
--   older_than_ms  since the job finished; without it each kind's retain_ms counts, and a kind that
--                  has none keeps its jobs (looks at a ledger: 30 days)
--   kinds          only these; without it all
--   statuses       of completed, failed, cancelled; without it all three
--   limit          at most so many jobs, names and values a call (1 to 10,000; 1,000)
-- Errors: LH002, LH003 for the options.
create or replace function leasehold.prune(p_options jsonb = '{}')
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_finished constant text[] := array['completed', 'failed', 'cancelled'];
  v_kinds text[];
  v_statuses text[] := v_finished;
  v_limit int;
  v_older_ms bigint;
  v_ids uuid[];
begin
  perform leasehold._check_options('p_options', p_options, array['older_than_ms', 'kinds', 'statuses', 'limit']);
  v_limit := leasehold._filter_limit(p_options, 1000);
  if p_options ? 'older_than_ms' then
    v_older_ms := leasehold._json_int('older_than_ms', p_options -> 'older_than_ms', 0, 315360000000);
  end if;
  if p_options ? 'statuses' then
    v_statuses := leasehold._json_statuses('statuses', p_options -> 'statuses', v_finished);
  end if;
  if p_options ? 'kinds' then
    v_kinds := leasehold._json_kinds(p_options -> 'kinds');
  else
    v_kinds := leasehold._kinds_finished();
  end if;
  v_ids := array(
    select f.id from (
      -- Once a kind: asked of each row, it would be no bound of the index, and every job kept be walked.
      select k.kind, coalesce(v_older_ms, d.retain_ms, leasehold._own_retain_ms(k.kind)) * interval '1 millisecond' as retained
      from unnest(v_kinds) k (kind) left join leasehold.kinds d on d.kind = k.kind offset 0) k cross join lateral (
      select j.id from leasehold.jobs j
      where j.kind = k.kind and j.status in ('completed', 'failed', 'cancelled') and j.status = any (v_statuses)
        and j.finished_at <= v_now - k.retained
        and (j.money is null or j.money <> 'checking')
      order by j.finished_at limit v_limit) f
    limit v_limit);
  -- Asked again of the locked row: a job may have been retried, and have ended anew, since we looked.
  v_ids := array(
    select j.id from leasehold.jobs j left join leasehold.kinds d on d.kind = j.kind
    where j.id = any (v_ids) and j.status || '' = any (v_statuses)
      and j.finished_at <= v_now - coalesce(v_older_ms, d.retain_ms, leasehold._own_retain_ms(j.kind)) * interval '1 millisecond'
      and (j.money is null or j.money <> 'checking')
    for update of j skip locked);
  delete from leasehold.job_events e where e.job_id = any (v_ids);
  delete from leasehold.steps s where s.job_id = any (v_ids);
  delete from leasehold.jobs j where j.id = any (v_ids);
  delete from leasehold.once o where (o.kind, o.owner, o.once) in (
    select e.kind, e.owner, e.once from leasehold.once e where e.expires_at <= v_now limit v_limit for update skip locked);
  -- An abandoned fill is kept for an hour: as long as it stands, its late value can still be stored.
  delete from leasehold.cache c where c.key = any (array(
    select e.key from leasehold.cache e
    where e.expires_at <= v_now and (e.token is null or e.expires_at <= v_now - interval '1 hour')
    order by e.expires_at limit v_limit for update skip locked));
  return jsonb_build_object('deleted', cardinality(v_ids));
end
$$;
