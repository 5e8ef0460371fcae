-- What the overview counts: bounded, whatever the size of the table.

-- A value as a page may show it; one that is too large is left out, and its size told.
create or replace function leasehold._shown(p_value jsonb)
returns jsonb language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if octet_length(p_value::text) <= 262144 then
    return p_value;
  end if;
  return case when p_value is not null then jsonb_build_object('omitted', format('%s bytes', octet_length(p_value::text))) end;
end
$$;

-- Every kind and priority that has queued jobs, by leaps through the index of claims; of one kind alone,
-- where that is given.
create or replace function leasehold._queues(p_kind text)
returns table (kind text, priority smallint) language plpgsql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
begin
  return query
  with recursive leap as (
    (select j.kind as k, j.priority as p from leasehold.jobs j
      where j.status = 'queued' and (j.kind, j.priority) > (coalesce(p_kind, ''), -32769) order by j.kind, j.priority limit 1)
    union all
    select n.kind, n.priority from leap cross join lateral (
      select j.kind, j.priority from leasehold.jobs j
      where j.status = 'queued' and (j.kind, j.priority) > (leap.k, leap.p)
      order by j.kind, j.priority limit 1) n
    where p_kind is null or leap.k = p_kind)
  select leap.k, leap.p from leap where p_kind is null or leap.k = p_kind;
end
$$;

-- The queued jobs, each number up to p_limit: due, waiting for their time, and since when the oldest due
-- one waits. Of one kind alone, where that is given.
create or replace function leasehold._queued_now(p_limit int, p_now timestamptz, p_kind text = null)
returns table (due bigint, waiting bigint, oldest timestamptz) language plpgsql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  v_queue record;
begin
  due := 0;
  waiting := 0;
  for v_queue in select q.kind, q.priority from leasehold._queues(p_kind) q loop
    due := due + (
      select count(*) from (
        select from leasehold.jobs j
        where j.status = 'queued' and j.kind = v_queue.kind and j.priority = v_queue.priority and j.run_after <= p_now
        limit p_limit - due) f);
    waiting := waiting + (
      select count(*) from (
        select from leasehold.jobs j
        where j.status = 'queued' and j.kind = v_queue.kind and j.priority = v_queue.priority and j.run_after > p_now
        limit p_limit - waiting) f);
    oldest := least(oldest, (
      select j.run_after from leasehold.jobs j
      where j.status = 'queued' and j.kind = v_queue.kind and j.priority = v_queue.priority and j.run_after <= p_now
      order by j.run_after, j.id limit 1));
  end loop;
  return next;
end
$$;

-- The running jobs, and those of all that anyone may reap, each number up to p_limit. Of one kind alone,
-- where that is given.
create or replace function leasehold._running_now(p_limit int, p_now timestamptz, p_kind text = null)
returns table (running bigint, expired bigint) language plpgsql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_kinds constant text[] := case when p_kind is null then leasehold._kinds_unfinished() else array[p_kind] end;
begin
  return query select
    (select least(count(*), p_limit) from unnest(v_kinds) k (kind) cross join lateral (
      select from leasehold.jobs j where j.status = 'running' and j.kind = k.kind limit p_limit) r),
    (select least(count(*), p_limit) from unnest(v_kinds) k (kind) cross join lateral (
      (select from leasehold.jobs j where j.status = 'running' and j.kind = k.kind and j.lease_until <= p_now limit p_limit)
      union all
      (select from leasehold.jobs j
        where j.status = 'queued' and j.kind = k.kind and j.start_by <= p_now
        and j.attempts < j.max_attempts limit p_limit)
      union all
      (select from leasehold.jobs j
        where j.status = 'queued' and j.kind = k.kind and j.attempts >= j.max_attempts limit p_limit)) e);
end
$$;

-- What ended in a period, by status, in p_parts of equal length: arrays of that many numbers. Of a table
-- with more than 1,000 pages so many are read at random, and the numbers are an estimate.
create or replace function leasehold._ended(p_from timestamptz, p_part_ms bigint, p_parts int)
returns jsonb language plpgsql volatile set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_pages constant float8 := pg_relation_size(format('%I.jobs', '{{schema}}')::regclass)::float8 / current_setting('block_size')::int;
  v_percent constant float8 := least(100, 100 * 1000 / greatest(v_pages, 1));
  v_part constant interval := p_part_ms * interval '1 millisecond';
  v_answer jsonb;
begin
  with ended as (
    select date_bin(v_part, j.finished_at, p_from) as part, j.status, count(*) as jobs
    from leasehold.jobs j tablesample system (v_percent)
    where j.finished_at >= p_from and j.finished_at < p_from + v_part * p_parts group by 1, 2),
  parts as (
    select s.status, jsonb_agg(round(coalesce(e.jobs, 0) * 100 / v_percent) order by p.nth) as jobs
    from unnest(array['completed', 'failed', 'cancelled']) s (status)
    cross join generate_series(0, p_parts - 1) p (nth)
    left join ended e on e.status = s.status and e.part = p_from + v_part * p.nth
    group by s.status)
  select jsonb_object_agg(p.status, p.jobs) || jsonb_build_object('estimated', v_percent < 100)
  into v_answer from parts p;
  return v_answer;
end
$$;
