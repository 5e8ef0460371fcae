-- Cancelling one job.

-- A queued job ends at once; a running one is asked to, and its next extend tells the worker. p_owes
-- leaves an account that gets something back to _pay.
create or replace function leasehold._cancel(p_id uuid, p_owner text, p_now timestamptz, p_owes boolean = false)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs;
begin
  perform leasehold._lock_subject(p_id);
  perform leasehold._reap(array(
    select j.id from leasehold.jobs j where j.id = p_id and (p_owner is null or j.owner = p_owner)), p_now, p_owes);
  select j.* into v_job from leasehold.jobs j
  where j.id = p_id and (p_owner is null or j.owner = p_owner) for no key update;
  if not found then
    return jsonb_build_object('outcome', 'unknown', 'status', null);
  elsif v_job.status = 'queued' then
    perform leasehold._move(v_job, 'cancelled', null, p_now, p_owes);
    perform leasehold._event(p_id, 'cancelled', v_job.generation, p_now);
    return jsonb_build_object('outcome', 'cancelled', 'status', 'cancelled');
  elsif v_job.status = 'running' then
    if v_job.cancel_requested_at is null then
      update leasehold.jobs j set cancel_requested_at = p_now where j.id = p_id;
      perform leasehold._event(p_id, 'cancel_requested', v_job.generation, p_now);
    end if;
    return jsonb_build_object('outcome', 'requested', 'status', 'running');
  end if;
  return jsonb_build_object('outcome', 'finished', 'status', v_job.status);
end
$$;
