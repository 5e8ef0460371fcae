-- finish_and_claim(completed, generations, results, outcomes, kinds, limit, worker, after) → rows of
-- finished_and_claimed: what a busy worker calls: finish_many and claim in one round trip, one commit.
--   completed    ids of jobs that are done, none twice
--   generations  their generations, in the same order
--   results      an array of their results, in the same order; null: they have none
--   outcomes     the others that ended, as finish_many takes them, none of them among completed
--   kinds, limit, worker, after  as claim; limit 0 claims nothing. The limit counts the slots that these
--                outcomes free: for each of them that is busy, one job fewer is handed out.
-- The first row has `finished` and no job: {done: [{id, status}], refused: [id], busy: [id]} as of
-- finish_many, but without those of completed that simply are; null where that is all of them. Each
-- further row is a job as claim hands it out, with its priority. Reaps, as claim does, where after is null alone: a caller
-- passes null once a second.
-- Waits for nobody. Errors: as finish_many and claim; LH002 also for arrays of different lengths.
create or replace function leasehold.finish_and_claim(
  p_completed uuid[] = null, p_generations int[] = null, p_results jsonb = null, p_outcomes jsonb = null,
  p_kinds text[] = null, p_limit int = 0, p_worker text = null, p_after jsonb = null)
returns setof leasehold.finished_and_claimed language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_first leasehold.finished_and_claimed;
  v_kinds text[];
  v_limit int;
begin
  perform leasehold._check_int('p_limit', p_limit, 0, 10000);
  if p_limit > 0 then
    v_kinds := leasehold._check_kinds(p_kinds);
    perform leasehold._check_claim(null, p_worker, null);
    perform leasehold._check_after(p_after);
  end if;
  v_first.finished := leasehold._finish_all(
    coalesce(p_completed, '{}'), coalesce(p_generations, '{}'), nullif(p_results, 'null'), coalesce(p_outcomes, '[]'), v_now);
  return next v_first;
  v_limit := p_limit - coalesce(jsonb_array_length(v_first.finished -> 'busy'), 0);
  if v_limit > 0 then
    return query select c.* from leasehold._claim_due(
      v_kinds, v_limit, null, p_worker, null, null, p_after, p_after is null, v_now) c;
  end if;
end
$$;
