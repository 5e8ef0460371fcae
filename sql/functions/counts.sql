-- counts(filter) → {counts: {queued, running, completed, failed, cancelled}, looked_at, complete}: how many jobs
-- a filter names, by status, out of the newest so many.
--   filter    kind · key · owner · error_code · look_at (10,000; 1 to 1,000,000)
--   complete  whether those were all jobs: otherwise each number is a least one
-- The failed ones, rare among millions, are looked for by themselves: the newest look_at of them.
-- Errors: LH002, LH003 for the filter.
create or replace function leasehold.counts(p_filter jsonb = '{}')
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_bitmapscan = off set jit = off as $$
declare
  v_look_at int := 10000;
  v_kind text;
  v_key text;
  v_owner text;
  v_error_code text;
  v_answer jsonb;
begin
  perform leasehold._check_options('p_filter', p_filter, array['kind', 'key', 'owner', 'error_code', 'look_at']);
  if p_filter ? 'look_at' then
    v_look_at := leasehold._json_int('look_at', p_filter -> 'look_at', 1, 1000000);
  end if;
  v_kind := leasehold._json_text('kind', p_filter -> 'kind');
  v_key := leasehold._json_text('key', p_filter -> 'key');
  v_owner := leasehold._json_text('owner', p_filter -> 'owner');
  v_error_code := leasehold._json_text('error_code', p_filter -> 'error_code');
  with looked_at as (
    (select j.status, j.kind, j.key, j.owner, j.last_error_code from leasehold.jobs j order by j.id desc limit v_look_at)),
  failed as (
    (select j.kind, j.key, j.owner, j.last_error_code from leasehold.jobs j where j.status = 'failed' order by j.id desc limit v_look_at)),
  found as (
    select l.status, count(*) as jobs from looked_at l
    where (v_kind is null or l.kind = v_kind) and (v_key is null or l.key = v_key) and (v_owner is null or l.owner = v_owner)
      and (v_error_code is null or l.last_error_code = v_error_code) and l.status <> 'failed'
    group by l.status
    union all
    select 'failed', count(*) from failed l
    where (v_kind is null or l.kind = v_kind) and (v_key is null or l.key = v_key) and (v_owner is null or l.owner = v_owner)
      and (v_error_code is null or l.last_error_code = v_error_code))
  select jsonb_build_object(
    'counts', (
      select jsonb_object_agg(s.status, coalesce(f.jobs, 0))
      from unnest(array['queued', 'running', 'completed', 'failed', 'cancelled']) s (status) left join found f on f.status = s.status),
    'looked_at', (select count(*) from looked_at), 'complete', (select count(*) < v_look_at from looked_at))
  into v_answer;
  return v_answer;
end
$$;
