-- Enqueueing many jobs in one call.

-- The jobs of one bulk call: together where nothing is in their way, else one by one. Where some cost
-- credits and one of them can't pay, those that it kept out get their turn: the call's writes are undone,
-- and it begins again without it. p_together false: one by one from the start.
create or replace function leasehold._enqueue_many(p_jobs jsonb, p_together boolean, p_now timestamptz, p_brief boolean = false)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_together boolean := p_together;
  v_unpaid int[] := '{}';
  v_answers jsonb;
  v_detail text;
begin
  loop
    begin
      if v_together then
        v_answers := leasehold._enqueue_together(p_jobs, p_now, p_brief);
      end if;
      v_together := false;
      if v_answers is null then
        perform leasehold._check_jobs(p_jobs);
        v_answers := leasehold._enqueue_all(p_jobs, v_unpaid, p_now);
      end if;
      return case when p_brief then leasehold._brief(v_answers) else v_answers end;
    exception
      when sqlstate 'LH901' then
        get stacked diagnostics v_detail = pg_exception_detail;
        v_unpaid := v_detail::int[];
        v_together := false;
      when sqlstate 'LH902' or datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
        if not v_together then
          raise;
        end if;
        v_together := false;
    end;
  end loop;
end
$$;

-- Answers of which that of a job that is created is its id alone.
create or replace function leasehold._brief(p_answers jsonb)
returns jsonb language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if jsonb_typeof(p_answers -> 0) = 'string' then
    return p_answers;  -- as they are where all are
  end if;
  return (
    select coalesce(jsonb_agg(case when a.answer ->> 'outcome' = 'created' then a.answer -> 'id' else a.answer end order by a.nth), '[]')
    from jsonb_array_elements(p_answers) with ordinality a (answer, nth));
end
$$;

-- Names under `once` first, then what has neither name nor key in one statement, then the rest one by
-- one in the order of kind and key, and last the accounts in theirs. p_unpaid are the places of jobs
-- that are known to be insufficient.
create or replace function leasehold._enqueue_all(p_jobs jsonb, p_unpaid int[], p_now timestamptz)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_answers jsonb[];
  v_owed jsonb[] := '{}';
  v_accounts text[];
  v_item record;
begin
  perform leasehold._lock_once(p_jobs, p_now);
  v_answers := leasehold._enqueue_plain(p_jobs, p_now);
  for v_item in
    select e.job, e.nth, k as defaults from jsonb_array_elements(p_jobs) with ordinality e (job, nth)
    left join leasehold.kinds k on k.kind = e.job ->> 'kind'
    where e.job ->> 'key' is not null or e.job ->> 'once' is not null
    -- Keys in one order for all calls; what has none waits for nobody and may come first.
    order by e.job ->> 'kind', e.job ->> 'key' nulls first, e.nth
  loop
    if v_item.nth = any (p_unpaid) then
      v_answers[v_item.nth] := jsonb_build_object('outcome', 'insufficient', 'id', null, 'status', null);
      -- The orphan on its key is reaped all the same: what that gives back may pay for another job.
      v_owed := v_owed || array(
        select r.owed from leasehold.jobs h cross join lateral leasehold._reap(array[h.id], p_now, true) r
        where h.kind = v_item.job ->> 'kind' and h.key = v_item.job ->> 'key' and h.status in ('queued', 'running')
          and leasehold._expired(h, p_now) and r.owed is not null);
      continue;
    end if;
    v_answers[v_item.nth] := leasehold._enqueue(
      leasehold._new_job(v_item.job ->> 'kind', coalesce(v_item.job -> 'payload', '{}'), v_item.job - array['kind', 'payload'],
        v_item.defaults, v_item.nth::int, p_now),
      v_item.job ->> 'on_conflict', v_item.job ->> 'once', (v_item.job ->> 'once_for_ms')::numeric::bigint, p_now, true);
    if v_answers[v_item.nth] ? 'owed' then
      v_owed := v_owed || array(select jsonb_array_elements(v_answers[v_item.nth] -> 'owed'));
      v_answers[v_item.nth] := v_answers[v_item.nth] - 'owed';
    end if;
  end loop;
  -- A name that was reserved for a job that can't pay, and that no other job of this call took.
  delete from leasehold.once o using jsonb_array_elements(p_jobs) with ordinality e (job, nth)
  where e.nth = any (p_unpaid) and o.kind = e.job ->> 'kind' and o.owner = coalesce(e.job ->> 'owner', '')
    and o.once = e.job ->> 'once' and o.job_id is null;
  if cardinality(v_owed) > 0 or p_jobs @? '$[*].cost ? (@ > 0)' then
    v_accounts := leasehold._lock_accounts(array(
      select distinct e.job ->> 'account' from jsonb_array_elements(p_jobs) e (job) where (e.job ->> 'cost')::numeric > 0)
      || array(select distinct o ->> 'account' from unnest(v_owed) o));
    perform leasehold._pay(v_owed);
    v_answers := leasehold._hold_many(p_jobs, v_answers, v_accounts, p_unpaid, p_now);
  end if;
  return to_jsonb(coalesce(v_answers, array[]::jsonb[]));
end
$$;

-- The jobs of a bulk call that have neither a key nor a name, and in the places of the others what is
-- written over later.
create or replace function leasehold._enqueue_plain(p_jobs jsonb, p_now timestamptz)
returns jsonb[] language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_ids uuid[];
  v_kinds text[];
  v_due timestamptz[];
begin
  with plain as (
    insert into leasehold.jobs
    select n.* from jsonb_array_elements(p_jobs) with ordinality e (job, nth)
    left join leasehold.kinds k on k.kind = e.job ->> 'kind'
    cross join lateral leasehold._new_job(e.job ->> 'kind', coalesce(e.job -> 'payload', '{}'), e.job - array['kind', 'payload'], k, e.nth::int, p_now) n
    where e.job ->> 'key' is null and e.job ->> 'once' is null
    order by e.nth
    returning id, kind, run_after)
  select (select array_agg(p.id order by p.id) from plain p), array_agg(k.kind), array_agg(k.run_after)
  into v_ids, v_kinds, v_due
  from (select p.kind, min(p.run_after) as run_after from plain p group by p.kind) k;
  perform leasehold._wake(w.kind, w.run_after, p_now) from unnest(v_kinds, v_due) w (kind, run_after);
  -- Ids rise in the order of the input, which is how an answer finds its place again. By position, not
  -- by a join: the planner takes the inserted rows for one, and looped 10,000 by 10,000 times (4 s).
  return (
    select array_agg(jsonb_build_object('outcome', 'created', 'id', v_ids[e.n], 'status', 'queued') order by e.nth)
    from (
      select t.nth, count(*) filter (where t.job ->> 'key' is null and t.job ->> 'once' is null) over (order by t.nth) as n
      from jsonb_array_elements(p_jobs) with ordinality t (job, nth)) e);
end
$$;

-- The holds of a bulk call. p_accounts are locked, in the order of their names, and nothing is waited for
-- any more. Decided in the order of the input; an account that can't pay for one job may still pay for a
-- cheaper one behind it.
create or replace function leasehold._hold_many(
  p_jobs jsonb, p_answers jsonb[], p_accounts text[], p_unpaid int[], p_now timestamptz)
returns jsonb[] language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_answers jsonb[] := p_answers;
  v_left bigint[];
  v_unpaid int[] := p_unpaid;
  v_kept_out text[] := '{}';  -- keys, and ids of first jobs of a name, of jobs that can't pay
  v_again boolean := false;
  v_item record;
begin
  v_left := array(
    select a.available from unnest(p_accounts) with ordinality n (account, nth)
    join leasehold.accounts a on a.account = n.account order by n.nth);
  for v_item in
    select e.nth, a.nth as place, (e.job ->> 'cost')::numeric::bigint as cost,
      e.answer ->> 'outcome' as outcome, e.answer ->> 'id' as id,
      (e.job ->> 'kind') || e'\x01' || (e.job ->> 'key') as key, e.job ->> 'key' is not null or e.job ->> 'once' is not null as named
    from rows from (jsonb_array_elements(p_jobs), unnest(p_answers)) with ordinality e (job, answer, nth)
    left join unnest(p_accounts) with ordinality a (account, nth) on a.account = e.job ->> 'account'
    where e.answer ->> 'outcome' <> 'created' or (e.job ->> 'cost')::numeric > 0
    order by e.nth
  loop
    if v_item.outcome <> 'created' and not (v_item.outcome = 'conflict' and v_item.key = any (v_kept_out)
      or v_item.outcome = 'duplicate' and v_item.id = any (v_kept_out))
    then
      continue;
    elsif coalesce(v_item.cost, 0) <= coalesce(v_left[v_item.place], 0) then
      if v_item.place is not null then
        v_left[v_item.place] := v_left[v_item.place] - coalesce(v_item.cost, 0);
      end if;
      if v_item.outcome <> 'created' then
        v_again := true;
        -- It has the key, or the name, from here on.
        v_kept_out := array_remove(v_kept_out, case v_item.outcome when 'conflict' then v_item.key else v_item.id end);
      end if;
      continue;
    end if;
    v_answers[v_item.nth] := jsonb_build_object('outcome', 'insufficient', 'id', null, 'status', null);
    if v_item.named then
      v_unpaid := v_unpaid || v_item.nth::int;
      if v_item.outcome = 'created' then
        v_kept_out := v_kept_out || array_remove(array[v_item.key, v_item.id], null);
      end if;
    end if;
  end loop;
  -- A job with another key may have met the name's first job before that was known to be unpaid.
  if v_again or exists (
    select from unnest(v_answers) a (answer) where a.answer ->> 'outcome' = 'duplicate' and a.answer ->> 'id' = any (v_kept_out))
  then
    raise exception using errcode = 'LH901', detail = v_unpaid::text;
  end if;
  perform leasehold._hold_paid(p_jobs, p_answers, v_answers, p_now);
  return v_answers;
end
$$;

-- Writes the holds of the jobs that are created still, and takes out those that are not. The accounts
-- are locked.
create or replace function leasehold._hold_paid(p_jobs jsonb, p_before jsonb[], p_answers jsonb[], p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_gone constant uuid[] := array(
    select (a.before ->> 'id')::uuid from unnest(p_before, p_answers) a (before, after)
    where a.after ->> 'outcome' = 'insufficient' and a.before ->> 'outcome' = 'created');
  v_paid uuid[];
  v_accounts text[];
  v_amounts bigint[];
begin
  delete from leasehold.once o where o.job_id = any (v_gone) and (o.kind, o.owner, o.once) in (
    select e.job ->> 'kind', coalesce(e.job ->> 'owner', ''), e.job ->> 'once' from jsonb_array_elements(p_jobs) e (job));
  delete from leasehold.jobs j where j.id = any (v_gone);
  select array_agg((a.answer ->> 'id')::uuid order by a.nth), array_agg(a.job ->> 'account' order by a.nth),
    array_agg((a.job ->> 'cost')::numeric::bigint order by a.nth)
  into v_paid, v_accounts, v_amounts
  from rows from (jsonb_array_elements(p_jobs), unnest(p_answers)) with ordinality a (job, answer, nth)
  where (a.job ->> 'cost')::numeric > 0 and a.answer ->> 'outcome' = 'created';
  perform leasehold._take_holds(v_paid, v_accounts, v_amounts, p_now);
end
$$;

-- The entries of enqueue_many's argument: objects, and the first that is none named by its index.
create or replace function leasehold._check_jobs(p_jobs jsonb)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_index bigint;
  v_job jsonb;
begin
  select e.nth - 1, e.job into v_index, v_job from jsonb_array_elements(p_jobs) with ordinality e (job, nth)
  where jsonb_typeof(e.job) is distinct from 'object' or jsonb_typeof(e.job -> 'kind') is distinct from 'string'
  order by e.nth limit 1;
  if found then
    perform leasehold._refuse(format('p_jobs[%s]', v_index), v_job::text, 'an object with a kind, a payload and options');
  end if;
end
$$;

-- Raises the error of the first entry that enqueue_many can't take, with its index in front. Looked
-- for only when the call was refused, so that good calls don't pay for it.
create or replace function leasehold._refuse_job(p_jobs jsonb, p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_index bigint;
  v_job jsonb;
  v_code text;
  v_message text;
  v_hint text;
begin
  for v_index, v_job in
    select e.nth - 1, e.job from jsonb_array_elements(p_jobs) with ordinality e (job, nth) order by e.nth
  loop
    begin
      perform leasehold._new_job(v_job ->> 'kind', v_job -> 'payload', v_job - array['kind', 'payload'], null, 0, p_now);
    exception when sqlstate 'LH002' or sqlstate 'LH003' or sqlstate 'LH004' then
      get stacked diagnostics v_code = returned_sqlstate, v_message = message_text, v_hint = pg_exception_hint;
      raise exception using errcode = v_code, message = format('p_jobs[%s]: %s', v_index, v_message), hint = v_hint;
    end;
  end loop;
end
$$;

-- Takes the names under `once` of a bulk call in their order, before any job: those that are new are
-- reserved, those whose time is over are locked. _once then finds them ours without waiting. One
-- statement does both: a name that is deleted while we wait for it is reserved in its turn.
create or replace function leasehold._lock_once(p_jobs jsonb, p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from jsonb_array_elements(p_jobs) e (job) where e.job ->> 'once' is not null;
  if not found then
    return;
  end if;
  insert into leasehold.once as o (kind, owner, once, expires_at)
  select n.kind, n.owner, n.once, p_now
  from (
    select distinct e.job ->> 'kind' as kind, coalesce(e.job ->> 'owner', '') as owner, e.job ->> 'once' as once
    from jsonb_array_elements(p_jobs) e (job) where e.job ->> 'once' is not null) n
  where not exists (
    select from leasehold.once f
    where f.kind = n.kind and f.owner = n.owner and f.once = n.once and f.expires_at > p_now)
  order by n.kind, n.owner, n.once
  on conflict (kind, owner, once) do update set expires_at = o.expires_at where o.expires_at <= p_now;
end
$$;
