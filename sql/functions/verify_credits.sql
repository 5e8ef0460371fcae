-- verify_credits() → {ok, violations}: whether the books balance, in one statement and so in one
-- snapshot. A violation is {rule, account, job_id, detail}; rules:
--   available       an account's available is not the sum of its entries
--   held            an account's open holds are not the sum of its entries
--   hold_entries    a hold has not exactly the entries of its state
--   refunds         a job was refunded more than it captured
--   job_money       a job and its hold disagree: a finished job holds, an unfinished one does not, or
--                   its money is another than its hold's state says
-- Reads every account, hold and entry: for an operator or a test, not for a request.
create or replace function leasehold.verify_credits()
returns jsonb language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('ok', count(*) = 0, 'violations',
    coalesce(jsonb_agg(jsonb_build_object('rule', v.rule, 'account', v.account, 'job_id', v.job_id, 'detail', v.detail)), '[]'))
  from leasehold._unbalanced() v
$$;
