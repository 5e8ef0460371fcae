-- extend_many(claims) → [{id, held, lease_until, cancel_requested, busy}, …]: extend for all the jobs
-- that one process holds, in one call, answers in the order of the input. claims is an array of {id,
-- generation, lease_ms?}, each with the meaning that extend gives it, at most 10,000.
-- Waits for nobody. Errors: LH002 for the claims; LH003 an unknown name.
create or replace function leasehold.extend_many(p_claims jsonb)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_locked uuid[];
  v_answers jsonb;
begin
  perform leasehold._check_claims(p_claims);
  v_locked := leasehold._lock_claims(p_claims);
  update leasehold.jobs j set
    lease_until = least(v_now + coalesce(c.lease_ms, j.lease_ms) * interval '1 millisecond', j.timeout_at)
  from jsonb_to_recordset(p_claims) c (id uuid, generation int, lease_ms int)
  where j.id = c.id and c.id = any (v_locked) and j.generation + 0 = c.generation;
  select coalesce(jsonb_agg(jsonb_build_object('id', (c.claim ->> 'id')::uuid) || case
      when j.id is null then leasehold._not_held() else leasehold._held(j, not j.id = any (v_locked)) end order by c.nth), '[]')
  into v_answers
  from jsonb_array_elements(p_claims) with ordinality c (claim, nth)
  left join leasehold.jobs j on j.id = (c.claim ->> 'id')::uuid
    and j.generation + 0 = (c.claim ->> 'generation')::int and j.status || '' = 'running';
  perform leasehold._refused((p_claims -> (a.nth - 1)::int ->> 'id')::uuid, (p_claims -> (a.nth - 1)::int ->> 'generation')::int, 'extend', v_now)
  from jsonb_array_elements(v_answers) with ordinality a (answer, nth) where a.answer -> 'held' = 'false';
  return v_answers;
end
$$;
