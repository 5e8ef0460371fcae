-- run_now(id) → {outcome, id, status}: a queued job is due at once, whatever delay it had. Outcomes:
-- due; wrong_status (not queued); unknown.
create or replace function leasehold.run_now(p_id uuid)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_job leasehold.jobs;
begin
  update leasehold.jobs j
  set run_after = v_now, start_by = leasehold._start_by(v_now, j.start_within_ms, v_now)
  where j.id = p_id and j.status || '' = 'queued'
  returning j.* into v_job;
  if found then
    perform leasehold._wake(v_job.kind, v_now, v_now);
    perform leasehold._event(p_id, 'run_now', v_job.generation, v_now);
    return jsonb_build_object('outcome', 'due', 'id', p_id, 'status', 'queued');
  end if;
  select j.* into v_job from leasehold.jobs j where j.id = p_id;
  return jsonb_build_object('outcome', case when v_job.id is null then 'unknown' else 'wrong_status' end,
    'id', v_job.id, 'status', v_job.status);
end
$$;
