-- remove(id) → {outcome, id, status}: deletes one finished job, its events and its steps. Outcomes: removed;
-- wrong_status (unfinished: cancel it first); money_unsettled (its ledger is being asked); unknown. Holds
-- and entries stay.
create or replace function leasehold.remove(p_id uuid)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_job leasehold.jobs;
begin
  select j.* into v_job from leasehold.jobs j where j.id = p_id for update;
  if v_job.id is null then
    return jsonb_build_object('outcome', 'unknown', 'id', null, 'status', null);
  elsif v_job.status in ('queued', 'running') then
    return jsonb_build_object('outcome', 'wrong_status', 'id', p_id, 'status', v_job.status);
  elsif v_job.money = 'checking' then
    return jsonb_build_object('outcome', 'money_unsettled', 'id', p_id, 'status', v_job.status);
  end if;
  delete from leasehold.job_events e where e.job_id = p_id;
  delete from leasehold.steps s where s.job_id = p_id;
  delete from leasehold.jobs j where j.id = p_id;
  return jsonb_build_object('outcome', 'removed', 'id', p_id, 'status', v_job.status);
end
$$;
