-- reap(limit) → int: ends or requeues jobs of every kind whose lease or start_by ran out, at most limit
-- (1 to 10,000) of them, and answers how many. Waits for nobody. Claim and status do the same for
-- what they touch; this is for an operator, or a cron where nobody polls.
create or replace function leasehold.reap(p_limit int = 100)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
begin
  perform leasehold._check_int('p_limit', p_limit, 1, 10000);
  return count(*) from leasehold._reap(leasehold._expired_ids(leasehold._kinds_unfinished(), p_limit, v_now), v_now);
end
$$;
