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
  with violations as (
    select 'available' as rule, t.account, null::uuid as job_id,
      jsonb_build_object('available', t.available, 'entries', t.entries) as detail
    from (
      select coalesce(a.account, e.account) as account, coalesce(a.available, 0) as available, coalesce(e.sum, 0) as entries
      from leasehold.accounts a
      full join (select n.account, sum(n.available_delta) from leasehold.entries n group by n.account) e on e.account = a.account) t
    where t.available <> t.entries
    union all
    select 'held', t.account, null, jsonb_build_object('held', t.held, 'entries', t.entries)
    from (
      select coalesce(h.account, e.account) as account, coalesce(h.sum, 0) as held, coalesce(e.sum, 0) as entries
      from (select o.account, sum(o.amount) from leasehold.holds o where o.state = 'held' group by o.account) h
      full join (select n.account, sum(n.held_delta) from leasehold.entries n group by n.account) e on e.account = h.account) t
    where t.held <> t.entries
    union all
    select 'hold_entries', h.account, h.job_id, jsonb_build_object('hold', h.id, 'state', h.state, 'entries', e.kinds)
    from leasehold.holds h
    left join (
      select n.hold, array_agg(n.kind || ' ' || n.available_delta || ' ' || n.held_delta order by n.id) as kinds
      from leasehold.entries n where n.hold is not null group by n.hold) e on e.hold = h.id
    where e.kinds is distinct from array['hold ' || -h.amount || ' ' || h.amount] || case h.state
      when 'captured' then array['capture 0 ' || -h.amount]
      when 'given_back' then array['give_back ' || h.amount || ' ' || -h.amount]
      else array[]::text[] end
    union all
    select 'hold_entries', n.account, n.job_id, jsonb_build_object('entry', n.id, 'hold', n.hold)
    from leasehold.entries n
    where n.hold is not null and not exists (select from leasehold.holds h where h.id = n.hold)
    union all
    select 'refunds', r.account, r.job_id, jsonb_build_object('refunded', r.refunded, 'captured', coalesce(c.amount, 0))
    from (select n.account, n.job_id, sum(n.available_delta) as refunded from leasehold.entries n where n.kind = 'refund' group by 1, 2) r
    left join (select h.job_id, sum(h.amount) as amount from leasehold.holds h where h.state = 'captured' group by 1) c on c.job_id = r.job_id
    where r.refunded > coalesce(c.amount, 0)
    union all
    select 'job_money', coalesce(j.account, h.account), coalesce(j.id, h.job_id),
      jsonb_build_object('status', j.status, 'money', j.money, 'hold', h.state)
    from (select * from leasehold.jobs u where u.cost is not null) j
    full join leasehold.holds h on h.job_id = j.id and h.run = j.run
    where case
      when j.id is null then h.state = 'held'  -- pruned, or an earlier run: its hold has ended
      else (j.finished_at is null) <> (h.state is not distinct from 'held')
        or j.money is distinct from h.state and not (j.money = 'refunded' and h.state = 'captured')
        or h.amount is distinct from j.cost or h.account is distinct from j.account end)
  select jsonb_build_object('ok', count(*) = 0, 'violations',
    coalesce(jsonb_agg(jsonb_build_object('rule', v.rule, 'account', v.account, 'job_id', v.job_id, 'detail', v.detail)), '[]'))
  from violations v
$$;
