-- list(filter) → {jobs, next}: jobs newest first, a page at a time. next is the `after` of the next
-- page, null on the last one; a page neither skips nor repeats a job, whatever comes in between.
--   filter  ids · kind · key · owner · status (one or an array) · error_code · limit (50) · after
-- A job here has all that is short: payload, progress and result are left out.
-- Errors: LH002, LH003 for the filter.
create or replace function leasehold.list(p_filter jsonb = '{}')
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_ids constant uuid[] := leasehold._matching(p_filter, null, 50);
  v_limit constant int := leasehold._filter_limit(p_filter, 50);
  v_jobs jsonb;
begin
  select coalesce(jsonb_agg(leasehold._listed(j) order by j.id desc), '[]') into v_jobs
  from leasehold.jobs j where j.id = any (v_ids[:v_limit]);
  return jsonb_build_object('jobs', v_jobs, 'next', case when cardinality(v_ids) > v_limit then v_ids[v_limit] end);
end
$$;
