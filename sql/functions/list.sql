-- list(filter) → {jobs, next}: jobs newest first, a page at a time. next is the `after` of the next
-- page, null on the last one; a page neither skips nor repeats a job, whatever comes in between.
--   filter  ids · kind · key · owner · status (one or an array) · error_code · limit (50) · after ·
--           look_at (1 to 1,000,000): at most so many jobs are looked at, so that a rare one among millions
--           can't keep the page waiting; it then has fewer jobs than its limit, or none, and a next
-- A job here has all that is short: payload, progress and result are left out.
-- Errors: LH002, LH003 for the filter.
create or replace function leasehold.list(p_filter jsonb = '{}')
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_filter jsonb := p_filter;
  v_look_at int;
  v_ids uuid[];
  v_limit int;
  v_jobs jsonb;
begin
  if jsonb_typeof(p_filter) = 'object' and p_filter ? 'look_at' then
    v_look_at := leasehold._json_int('look_at', p_filter -> 'look_at', 1, 1000000);
    v_filter := p_filter - 'look_at';
  end if;
  v_ids := leasehold._matching(v_filter, null, 50, v_look_at);
  v_limit := leasehold._filter_limit(v_filter, 50);
  select coalesce(jsonb_agg(leasehold._listed(j) order by j.id desc), '[]') into v_jobs
  from leasehold.jobs j where j.id = any (v_ids[:v_limit]);
  return jsonb_build_object('jobs', v_jobs, 'next', case
    when cardinality(v_ids) > v_limit then v_ids[v_limit]
    when v_look_at is not null then leasehold._looked_to(v_filter, v_look_at) end);
end
$$;
