-- What a sound database never has. Every function here is stable, so that all of them see the one
-- snapshot of the statement that asks.

-- Rows of jobs that no sequence of calls can leave behind, one rule a row.
create or replace function leasehold._unsound_jobs()
returns table (rule text, id text) language sql stable set search_path = pg_catalog, pg_temp as $$
  select r.rule, j.id::text
  from leasehold.jobs j cross join lateral unnest(array[
    case when j.attempts not between 0 and j.max_attempts or j.releases < 0
        or j.budget_releases not between 0 and j.releases then 'counts' end,
    case when j.status = 'running' then
        case when j.generation < 1 or j.attempts < 1 or j.started_at is null or j.claimed_at is null
          or j.timeout_at is null or j.lease_until is null or j.lease_until > j.timeout_at then 'claim' end
      when j.lease_until is not null or j.rerun is not null then 'claim' end,
    case when (j.status in ('queued', 'running')) <> (j.finished_at is null)
        or j.status = 'failed' and j.last_error_code is null then 'end' end,
    case when j.status in ('queued', 'failed') and j.cancel_requested_at is not null then 'cancel' end,
    case when j.status = 'queued' and j.start_within_ms is not null
        and (j.start_by is null or j.start_by < j.run_after) then 'start_by' end]) r (rule)
  where r.rule is not null
  union all
  select 'key', j.id::text
  from leasehold.jobs j
  join (
    select u.kind, u.key from leasehold.jobs u
    where u.key is not null and u.status in ('queued', 'running') group by u.kind, u.key having count(*) > 1) d
    on d.kind = j.kind and d.key = j.key
  where j.status in ('queued', 'running')
$$;

-- What the tables beside jobs know better than jobs.
create or replace function leasehold._unsound_history()
returns table (rule text, id text) language sql stable set search_path = pg_catalog, pg_temp as $$
  select 'generation', j.id::text
  from leasehold.jobs j
  join (
    select e.job_id, max(e.generation) as generation from leasehold.job_events e
    where e.event <> 'refused' group by e.job_id) e on e.job_id = j.id
  where e.generation > j.generation
  union all
  select 'reaped_twice', e.job_id::text
  from leasehold.job_events e
  where e.event = 'reaped' and e.code in ('LEASE_EXPIRED', 'TIMEOUT')
  group by e.job_id, e.generation having count(*) > 1
  union all
  select distinct 'events', e.job_id::text
  from leasehold.job_events e left join leasehold.jobs j on j.id = e.job_id
  where j.id is null
  union all
  select 'steps', s.job_id::text || ' ' || s.name
  from leasehold.steps s left join leasehold.jobs j on j.id = s.job_id
  where j.id is null or s.generation > j.generation
  union all
  select 'once', o.kind || ' ' || o.once
  from leasehold.once o where o.job_id is null
  union all
  select 'external', j.id::text
  from leasehold.jobs j
  where j.external and j.status in ('failed', 'cancelled') and (j.money is null or j.money = 'checking' and not exists (
    select from leasehold.jobs l
    where l.kind = 'leasehold.reconcile' and l.key = j.id || ':' || j.run and l.status in ('queued', 'running')))
$$;

-- What the catalogue says otherwise than an install leaves it.
create or replace function leasehold._unsound_schema()
returns table (rule text, id text) language sql stable set search_path = pg_catalog, pg_temp as $$
  with own as (
    select n.oid from pg_catalog.pg_namespace n where n.nspname = '{{schema}}'),
  parts as (
    select p.oid::regprocedure::text as id, coalesce(p.proacl, acldefault('f', p.proowner)) as acl, p.proname::text as name
    from pg_catalog.pg_proc p join own on own.oid = p.pronamespace
    union all
    select c.oid::regclass::text, coalesce(c.relacl, acldefault('r', c.relowner)), c.relname::text
    from pg_catalog.pg_class c join own on own.oid = c.relnamespace where c.relkind in ('r', 'p', 'S')),
  strangers (role) as (
    select 0::oid union all
    select r.oid from pg_catalog.pg_roles r where r.rolname in ('anon', 'authenticated'))
  select distinct 'rights', p.id
  from parts p cross join lateral aclexplode(p.acl) a join strangers s on s.role = a.grantee
  where p.name <> 'my_job'
  union all
  select 'rights', c.oid::regclass::text
  from pg_catalog.pg_class c join own on own.oid = c.relnamespace
  where c.relkind in ('r', 'p') and not c.relrowsecurity
  union all
  select 'rights', p.oid::regprocedure::text
  from pg_catalog.pg_proc p join own on own.oid = p.pronamespace
  where p.prosecdef
    and not exists (select from unnest(p.proconfig) c where starts_with(c, 'search_path='))
  union all
  select 'indexes', i.indexrelid::regclass::text
  from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid join own on own.oid = c.relnamespace
  where not (i.indisvalid and i.indisready)
$$;

-- What does not balance in the books: the rules stand with verify_credits.
create or replace function leasehold._unbalanced()
returns table (rule text, account text, job_id uuid, detail jsonb) language sql stable
set search_path = pg_catalog, pg_temp as $$
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
      or h.amount is distinct from j.cost or h.account is distinct from j.account end
$$;
