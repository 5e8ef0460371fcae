-- Claiming: which jobs are next, and making them this worker's.

-- Claims what is due, for every function that claims many: reaps first where p_reap, then hands out
-- the next jobs of those kinds that are not paused. Their `finished` is null.
create or replace function leasehold._claim_due(
  p_kinds text[], p_limit int, p_lease_ms int, p_worker text, p_timeout_ms int, p_except uuid[], p_after jsonb,
  p_reap boolean, p_now timestamptz)
returns setof leasehold.finished_and_claimed language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_kinds constant text[] := leasehold._unpaused(p_kinds);
  v_expired uuid[];
  v_rows tid[];
begin
  if p_reap then
    v_expired := leasehold._expired_ids(p_kinds, greatest(p_limit, 100), p_now);
    if cardinality(v_expired) > 0 then
      perform leasehold._reap(v_expired, p_now);
    end if;
  end if;
  if cardinality(v_kinds) > 0 then
    v_rows := leasehold._due(v_kinds, p_limit, array_remove(coalesce(p_except, array[]::uuid[]), null), p_after, p_now);
    if cardinality(v_rows) > 0 then
      return query select c.* from leasehold._claim(v_rows, v_kinds, p_lease_ms, p_worker, p_timeout_ms, p_now) c;
    end if;
  end if;
end
$$;

-- The rows of the next due jobs, locked, no more than p_limit, by priority, run_after and id. A row
-- that is locked stays where it is, so it can be told by its place (its ctid), without a second search.
-- The kinds must be free of paused ones. Walks the priorities in use one after the other, with a
-- bounded look at each, so that delayed jobs of a better priority cost nothing. p_after
-- {"<priority>": {"run_after", "id"}} bounds the look in that priority from below: a caller that
-- just claimed up to there need not walk the dead index entries before it again.
create or replace function leasehold._due(
  p_kinds text[], p_limit int, p_except uuid[], p_after jsonb, p_now timestamptz)
returns tid[] language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_rows tid[] := '{}';
  v_priority int := -32769;
  v_from jsonb;
  v_from_at timestamptz;
  v_from_id uuid;
  v_need int;
begin
  while cardinality(v_rows) < p_limit loop
    v_priority := leasehold._next_priority(p_kinds, v_priority, p_after);
    exit when v_priority is null;
    v_from := p_after -> v_priority::text;
    v_from_at := coalesce((v_from ->> 'run_after')::timestamptz, '-infinity');
    v_from_id := coalesce((v_from ->> 'id')::uuid, '00000000-0000-0000-0000-000000000000');
    v_need := p_limit - cardinality(v_rows);
    if cardinality(p_kinds) = 1 then
      v_rows := v_rows || leasehold._due_of_kind(p_kinds[1], v_priority, v_need, p_except, v_from_at, v_from_id, p_now);
    else
      v_rows := v_rows || leasehold._due_of_kinds(p_kinds, v_priority, v_need, p_except, v_from_at, v_from_id, p_now);
    end if;
  end loop;
  return v_rows;
end
$$;

-- The next priority after p_priority that has queued jobs, or that p_after names.
create or replace function leasehold._next_priority(p_kinds text[], p_priority int, p_after jsonb)
returns int language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set enable_sort = off set plan_cache_mode = force_generic_plan as $$
declare
  v_named int := 32768;
  v_found int;
begin
  if p_after is not null then
    select coalesce(min(n::int), v_named) into v_named from jsonb_object_keys(p_after) n where n::int > p_priority;
  end if;
  select min(f.priority) into v_found from unnest(p_kinds) k (kind) cross join lateral (
    select j.priority from leasehold.jobs j
    where j.status = 'queued' and j.kind = k.kind and j.priority > p_priority
      and j.priority < v_named
    order by j.priority limit 1) f;
  return nullif(least(v_found, v_named), 32768);
end
$$;

-- Due jobs of one kind and priority, each locked as the index hands it out. The picked rows are fixed
-- in an array: a subquery with LIMIT and SKIP LOCKED may be run again by some plans, and then takes
-- more than its limit.
create or replace function leasehold._due_of_kind(
  p_kind text, p_priority int, p_limit int, p_except uuid[], p_from_at timestamptz, p_from_id uuid, p_now timestamptz)
returns tid[] language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
set plan_cache_mode = force_generic_plan as $$
begin
  return array(
    select j.ctid from leasehold.jobs j
    where j.status = 'queued' and j.kind = p_kind and j.priority = p_priority and j.run_after <= p_now
      and (j.run_after, j.id) >= (p_from_at, p_from_id) and j.attempts < j.max_attempts
      and (j.start_by is null or j.start_by > p_now) and j.id <> all (p_except)
    order by j.run_after, j.id limit p_limit for no key update skip locked);
end
$$;

-- Due jobs of several kinds in one priority. The kinds' heads are merged first, unlocked, page by
-- page, and only what the page decided on is locked: locking each kind's head would hide due jobs
-- from a rival for the length of this transaction. A head is about twice a kind's share, and a page
-- ends where the first of the full heads does: what comes next may be behind that. (With enable_sort
-- off as above, the merge's own sort would make every plan cost the same.)
create or replace function leasehold._due_of_kinds(
  p_kinds text[], p_priority int, p_limit int, p_except uuid[], p_from_at timestamptz, p_from_id uuid, p_now timestamptz)
returns tid[] language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  v_head constant int := least(p_limit, greatest(2 * p_limit / cardinality(p_kinds), 10));
  v_rows tid[] := '{}';
  v_page uuid[];
  v_more boolean;
  v_at timestamptz := p_from_at;
  v_id uuid := p_from_id;
  v_last uuid;
begin
  loop
    with head as materialized (
      select f.id, f.run_after, f.nth from unnest(p_kinds) k (kind) cross join lateral (
        select i.id, i.run_after, row_number() over () as nth from (
          select j.id, j.run_after from leasehold.jobs j
          where j.status = 'queued' and j.kind = k.kind and j.priority = p_priority and j.run_after <= p_now
            and (j.run_after, j.id) >= (v_at, v_id) and (v_last is null or j.id <> v_last)
            and j.attempts < j.max_attempts
            and (j.start_by is null or j.start_by > p_now) and j.id <> all (p_except)
          order by j.run_after, j.id limit v_head) i) f),
    full_head as materialized (
      select h.run_after, h.id from head h where h.nth = v_head order by h.run_after, h.id limit 1),
    page as (
      select h.id, h.run_after from head h
      where not exists (select from full_head f where (h.run_after, h.id) > (f.run_after, f.id))
      order by h.run_after, h.id limit p_limit)
    select array_agg(p.id order by p.run_after, p.id),
      (array_agg(p.run_after order by p.run_after desc, p.id desc))[1],
      (array_agg(p.id order by p.run_after desc, p.id desc))[1],
      exists (select from full_head)
    into v_page, v_at, v_id, v_more
    from page p;
    exit when v_page is null;
    v_rows := v_rows || array(
      select j.ctid from leasehold.jobs j
      where j.id = any (v_page) and j.status || '' = 'queued' and j.run_after <= p_now
      order by j.run_after, j.id limit p_limit - cardinality(v_rows) for no key update skip locked);
    exit when cardinality(v_rows) >= p_limit or not (v_more or cardinality(v_page) = p_limit);
    v_last := v_id;
  end loop;
  return v_rows;
end
$$;

-- Makes locked queued jobs of these kinds running under a new generation, told by their rows' places.
-- The lease never passes the timeout. Both are reckoned once for each kind. The plan is fixed to the
-- places and a hash of the kinds: nothing that the planner believes of the table leads it elsewhere.
create or replace function leasehold._claim(
  p_rows tid[], p_kinds text[], p_lease_ms int, p_worker text, p_timeout_ms int, p_now timestamptz)
returns setof leasehold.finished_and_claimed language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set enable_nestloop = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
begin
  return query
  with length as materialized (
    select n.kind,
      coalesce(p_lease_ms, k.lease_ms, case n.kind when 'leasehold.reconcile' then 60000 else 300000 end) as lease_ms,
      coalesce(p_timeout_ms, k.timeout_ms, case n.kind when 'leasehold.reconcile' then 300000 else 3600000 end) as timeout_ms
    from unnest(p_kinds) n (kind) left join leasehold.kinds k on k.kind = n.kind),
  term as materialized (
    select u.*, to_char(u.lease_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as lease_until_iso,
      to_char(u.timeout_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as timeout_at_iso
    from (
      select l.kind, l.lease_ms,
        p_now + least(l.lease_ms, l.timeout_ms) * interval '1 millisecond' as lease_until,
        p_now + l.timeout_ms * interval '1 millisecond' as timeout_at
      from length l) u),
  claimed as (
    update leasehold.jobs j set
      status = 'running',
      attempts = j.attempts + 1,
      generation = j.generation + 1,
      claimed_at = p_now,
      started_at = coalesce(j.started_at, p_now),
      lease_ms = t.lease_ms,
      lease_until = t.lease_until,
      timeout_at = t.timeout_at,
      worker = p_worker
    from term t
    where j.ctid = any (p_rows) and t.kind = j.kind
    returning j.id, j.kind, j.key, j.owner, j.payload, j.attempts, j.max_attempts, j.generation, j.releases,
      j.budget_releases, j.priority, j.run_after, t.lease_until_iso, t.timeout_at_iso, j.trace_context)
  select null::jsonb, c.id, c.kind, c.key, c.owner, c.payload, c.attempts, c.max_attempts, c.generation, c.releases, c.budget_releases,
    to_char(c.run_after at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), c.lease_until_iso, c.timeout_at_iso, c.priority::int, c.trace_context
  from claimed c order by c.priority, c.run_after, c.id;
end
$$;

-- Kinds of the given ones that are not paused. Each claim asks: to plan it anew took 50 of its 300 us.
create or replace function leasehold._unpaused(p_kinds text[])
returns text[] language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
begin
  return array(
    select k from unnest(p_kinds) k
    where not exists (select from leasehold.kinds p where p.kind = k and p.paused_at is not null) order by k);
end
$$;

-- Whether a claim of these kinds would find a due job. The first due one of each priority decides.
create or replace function leasehold._has_due(p_kinds text[], p_now timestamptz)
returns boolean language plpgsql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_priority int := -32769;
begin
  loop
    v_priority := leasehold._next_priority(p_kinds, v_priority, null);
    if v_priority is null then
      return false;
    end if;
    perform from unnest(p_kinds) k (kind) cross join lateral (
      select 1 from leasehold.jobs j
      where j.status = 'queued' and j.kind = k.kind and j.priority = v_priority and j.run_after <= p_now
      order by j.run_after, j.id limit 1) d;
    if found then
      return true;
    end if;
  end loop;
end
$$;

-- Whether a claim of these kinds, none of them paused, would find something to do or to reap.
create or replace function leasehold._is_due(p_kinds text[], p_now timestamptz)
returns boolean language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return cardinality(p_kinds) > 0 and (leasehold._has_due(p_kinds, p_now)
    or cardinality(leasehold._expired_ids(p_kinds, 1, p_now)) > 0);
end
$$;
