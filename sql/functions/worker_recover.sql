-- worker_recover(worker, kinds, known) → int: gives back the jobs that were claimed under this name
-- and that the worker does not know of, since the answer to its claim was lost on the way: queued
-- again at once, the attempt not counted, with the code CLAIM_LOST. How many they were.
--   worker  the name that the worker gives claim; it must be nobody else's
--   kinds   the kinds that it claims
--   known   the ids of the jobs that it has in hand, whatever their generation
-- Only for a worker that has no claim under way. Waits for nobody: what others hold, the job or its
-- account, is left for the next time, or for its lease to run out.
-- Errors: LH002 for a blank name and for empty or null kinds.
create or replace function leasehold.worker_recover(p_worker text, p_kinds text[], p_known uuid[])
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_kinds constant text[] := leasehold._check_kinds(p_kinds);
  v_job leasehold.jobs;
  v_count int := 0;
begin
  perform leasehold._check_text('p_worker', p_worker, 500);
  for v_job in
    select j.* from unnest(v_kinds) k (kind)
    join leasehold.jobs j on j.kind = k.kind and j.status = 'running'
    where j.worker = p_worker and j.id <> all (coalesce(p_known, '{}'))
    for no key update of j skip locked
  loop
    continue when not leasehold._money_free(v_job, 'release', false);
    perform leasehold._release(v_job, 0, 'CLAIM_LOST', v_now);
    v_count := v_count + 1;
  end loop;
  return v_count;
end
$$;
