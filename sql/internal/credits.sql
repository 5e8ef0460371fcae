-- Credits: what a job costs is held at its enqueue, captured when it completes, and given back when it
-- ends otherwise, always by the function call that changes its status. A capture touches the hold
-- alone; only holds, give-backs, grants and refunds touch an account.

-- Takes what a job costs from its account, with the hold of its present run and its entry; false where
-- too little is available. Waits for the account.
create or replace function leasehold._hold(p_job leasehold.jobs, p_now timestamptz)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update leasehold.accounts a set available = a.available - p_job.cost
  where a.account = p_job.account and a.available >= p_job.cost;
  if not found then
    return false;
  end if;
  with hold as (
    insert into leasehold.holds (job_id, run, account, amount, created_at)
    values (p_job.id, p_job.run, p_job.account, p_job.cost, p_now)
    returning id)
  insert into leasehold.entries (at, account, kind, available_delta, held_delta, hold, job_id)
  select p_now, p_job.account, 'hold', -p_job.cost, p_job.cost, hold.id, p_job.id from hold;
  return true;
end
$$;

-- Whether each account has what is asked of it in all; the caller has locked them.
create or replace function leasehold._can_pay(p_accounts text[], p_amounts bigint[])
returns boolean language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off as $$
declare
  v_asked constant text[] := array(select distinct p from unnest(p_accounts) p);
  v_able bigint;
begin
  select count(*) into v_able
  from (select p.account, sum(p.amount) as amount from unnest(p_accounts, p_amounts) p (account, amount) group by p.account) t
  join leasehold.accounts a on a.account = t.account and a.account = any (v_asked) and a.available >= t.amount;
  return v_able = cardinality(v_asked);
end
$$;

-- Takes the holds of many new jobs from accounts that the caller has locked and that can pay.
create or replace function leasehold._take_holds(p_ids uuid[], p_accounts text[], p_amounts bigint[], p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off set jit = off as $$
declare
  v_asked constant text[] := array(select distinct p from unnest(p_accounts) p);
begin
  update leasehold.accounts a set available = a.available - t.amount
  from (select p.account, sum(p.amount) as amount from unnest(p_accounts, p_amounts) p (account, amount) group by p.account) t
  where a.account = t.account and a.account = any (v_asked);
  with hold as (
    insert into leasehold.holds (job_id, run, account, amount, created_at)
    select p.job_id, 1, p.account, p.amount, p_now
    from unnest(p_ids, p_accounts, p_amounts) with ordinality p (job_id, account, amount, nth) order by p.nth
    returning id, job_id, account, amount)
  insert into leasehold.entries (at, account, kind, available_delta, held_delta, hold, job_id)
  select p_now, h.account, 'hold', -h.amount, h.amount, h.id, h.job_id from hold h;
end
$$;

-- Ends the hold of a job's present run: 'captured', or 'given_back', whose credits the account gets
-- here, or later from _pay where p_later.
create or replace function leasehold._end_hold(p_job leasehold.jobs, p_state text, p_later boolean, p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_hold leasehold.holds;
begin
  update leasehold.holds h set state = p_state, ended_at = p_now
  where h.job_id = p_job.id and h.run = p_job.run and h.state || '' = 'held'
  returning h.* into strict v_hold;
  insert into leasehold.entries (at, account, kind, available_delta, held_delta, hold, job_id)
  values (p_now, v_hold.account, case p_state when 'captured' then 'capture' else 'give_back' end,
    case p_state when 'captured' then 0 else v_hold.amount end, -v_hold.amount, v_hold.id, p_job.id);
  if p_state = 'given_back' and not p_later then
    update leasehold.accounts a set available = a.available + v_hold.amount where a.account = v_hold.account;
  end if;
end
$$;

-- Captures what many jobs hold, whose rows the caller has locked: their holds are nobody else's.
create or replace function leasehold._capture(p_ids uuid[], p_runs int[], p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  v_holds constant bigint[] := array(
    select l.id from unnest(p_ids, p_runs) o (job_id, run) cross join lateral (
      select h.id from leasehold.holds h where h.job_id = o.job_id and h.run = o.run and h.state || '' = 'held' limit 1) l);
begin
  if cardinality(v_holds) < cardinality(p_ids) then
    raise exception using errcode = 'P0002', message = 'a job whose credits are held has no hold',
      hint = 'Ask `leasehold verify`: something else than leasehold''s functions wrote to its tables.';
  end if;
  with ended as (
    update leasehold.holds h set state = 'captured', ended_at = p_now where h.id = any (v_holds)
    returning h.id, h.account, h.job_id, h.amount)
  insert into leasehold.entries (at, account, kind, available_delta, held_delta, hold, job_id)
  select p_now, e.account, 'capture', 0, -e.amount, e.id, e.job_id from ended e order by e.id;
end
$$;

-- Locks an account without waiting; false where somebody else has it, or nobody made it yet: whoever
-- makes it next has it.
create or replace function leasehold._try_account(p_account text)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from leasehold.accounts a where a.account = p_account for no key update skip locked;
  return found;
end
$$;

-- Locks accounts in the one order in which they are waited for, and answers those that there are. One
-- that is made while we wait for another is not among them: it is not ours.
create or replace function leasehold._lock_accounts(p_accounts text[])
returns text[] language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return array(
    select a.account from leasehold.accounts a where a.account = any (p_accounts)
    order by a.account for no key update);
end
$$;

-- What a bulk call owes to accounts, each {account, amount}, paid after everything that it waits for.
-- (An array: to grow one jsonb value by ten thousand parts took more than a minute.)
create or replace function leasehold._pay(p_owed jsonb[])
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if cardinality(p_owed) = 0 then
    return;
  end if;
  perform leasehold._lock_accounts(array(select distinct o ->> 'account' from unnest(p_owed) o));
  update leasehold.accounts a set available = a.available + o.amount
  from (
    select r ->> 'account' as account, sum((r ->> 'amount')::bigint)::bigint as amount
    from unnest(p_owed) r group by 1) o
  where a.account = o.account;
end
$$;

-- What a job that ended by a give-back is owed; null for others.
create or replace function leasehold._owed(p_job leasehold.jobs, p_status text)
returns jsonb language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case when p_job.money = 'held' and p_status in ('failed', 'cancelled')
    then jsonb_build_object('account', p_job.account, 'amount', p_job.cost) end
$$;

-- Locks an account, making it where it is new, and answers what is available.
create or replace function leasehold._own_account(p_account text)
returns bigint language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_available bigint;
begin
  loop
    select a.available into v_available from leasehold.accounts a where a.account = p_account for no key update;
    if found then
      return v_available;
    end if;
    insert into leasehold.accounts (account, available) values (p_account, 0) on conflict (account) do nothing;
  end loop;
end
$$;

-- Whether an account that the caller has locked may have so many more, held ones counted: what is held
-- may come back.
create or replace function leasehold._fits(p_account text, p_available bigint, p_amount bigint)
returns boolean language sql stable set search_path = pg_catalog, pg_temp as $$
  select p_available + p_amount + coalesce(sum(h.amount), 0) <= 9007199254740991
  from leasehold.holds h where h.account = p_account and h.state = 'held'
$$;

-- Adds to an account that the caller has locked, under a reference, and answers what is available.
create or replace function leasehold._credit(
  p_account text, p_kind text, p_amount bigint, p_job_id uuid, p_reference text, p_now timestamptz)
returns bigint language sql volatile set search_path = pg_catalog, pg_temp as $$
  insert into leasehold.entries (at, account, kind, available_delta, held_delta, job_id, reference)
  values (p_now, p_account, p_kind, p_amount, 0, p_job_id, p_reference);
  update leasehold.accounts a set available = a.available + p_amount where a.account = p_account
  returning a.available
$$;

-- A reference that was used before: the same amount is a repetition, another one a mistake.
create or replace function leasehold._check_repeated(p_reference text, p_before bigint, p_amount bigint)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_before <> p_amount then
    perform leasehold._refuse('p_amount', format('%s under the reference %s, which stands for %s already',
      p_amount, quote_literal(p_reference), p_before), 'the same amount to repeat a call, or another reference');
  end if;
end
$$;
