-- holds(account, limit) → {holds, more}: what unfinished jobs hold of an account, each {job_id, run, amount,
-- created_at}, the newest first; more: there are others.
-- Errors: LH002 for a blank name or a limit outside of 1 to 1,000.
create or replace function leasehold.holds(p_account text, p_limit int = 100)
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_answer jsonb;
begin
  perform leasehold._check_text('p_account', p_account, 500);
  perform leasehold._check_int('p_limit', p_limit, 1, 1000);
  select jsonb_build_object(
    'holds', coalesce(jsonb_agg(jsonb_build_object('job_id', h.job_id, 'run', h.run, 'amount', h.amount,
      'created_at', leasehold._iso(h.created_at)) order by h.id desc) filter (where h.nth <= p_limit), '[]'),
    'more', count(*) > p_limit)
  into v_answer
  from (
    select n.*, row_number() over (order by n.id desc) as nth
    -- Bounded before it is sorted.
    from (select o.* from leasehold.holds o where o.account = p_account and o.state = 'held' limit 10000) n
    order by n.id desc limit p_limit + 1) h;
  return v_answer;
end
$$;
