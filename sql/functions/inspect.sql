-- inspect(id) → jsonb: all that is known of one job, for the person who looks after it; null where it is
-- unknown. Reads only: a job past its lease is shown as it stands.
--   {at, job, payload, progress, result, rerun, lease_ms, start_within_ms, budget_releases, settle_after,
--    trace_context, expired, holder, events, steps, holds, refunded}
--   job      as list shows it
--   expired  past its lease, its start_by or its attempts, and not reaped yet
--   holder   {id, status} of another unfinished job that has this one's kind and key: a retry is a conflict
--            while it has; null: none
--   events   {id, at, event, generation, code, message, detail}, the newest 500, the oldest of them first
--   steps    {name, generation, saved_at}, as they were saved, at most 500
--   holds    {run, account, amount, state, created_at, ended_at}, one for each run that cost, the newest 100
--   refunded what refunds gave back of that
-- A payload, progress, result or rerun above 256 KB of text is left out: {"omitted": "1234567 bytes"}.
create or replace function leasehold.inspect(p_id uuid)
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_job leasehold.jobs;
begin
  select j.* into v_job from leasehold.jobs j where j.id = p_id;
  if not found then
    return null;
  end if;
  return jsonb_build_object(
    'at', leasehold._iso(v_now), 'job', leasehold._listed(v_job),
    'payload', leasehold._shown(v_job.payload), 'progress', leasehold._shown(v_job.progress),
    'result', leasehold._shown(v_job.result), 'rerun', leasehold._shown(v_job.rerun),
    'lease_ms', v_job.lease_ms, 'start_within_ms', v_job.start_within_ms, 'budget_releases', v_job.budget_releases,
    'settle_after', leasehold._iso(v_job.settle_after), 'trace_context', v_job.trace_context, 'expired', leasehold._expired(v_job, v_now),
    'holder', (
      select jsonb_build_object('id', h.id, 'status', h.status) from leasehold.jobs h
      where h.kind = v_job.kind and h.key = v_job.key and h.status in ('queued', 'running') and h.id <> p_id limit 1),
    'events', (
      select coalesce(jsonb_agg(jsonb_build_object('id', e.id, 'at', leasehold._iso(e.at), 'event', e.event,
        'generation', e.generation, 'code', e.code, 'message', e.message, 'detail', e.detail) order by e.id), '[]')
      from (select n.* from leasehold.job_events n where n.job_id = p_id order by n.id desc limit 500) e),
    'steps', (
      select coalesce(jsonb_agg(jsonb_build_object('name', s.name, 'generation', s.generation,
        'saved_at', leasehold._iso(s.saved_at)) order by s.saved_at, s.name), '[]')
      from (select n.* from leasehold.steps n where n.job_id = p_id order by n.name limit 500) s),
    'holds', (
      select coalesce(jsonb_agg(jsonb_build_object('run', h.run, 'account', h.account, 'amount', h.amount, 'state', h.state,
        'created_at', leasehold._iso(h.created_at), 'ended_at', leasehold._iso(h.ended_at)) order by h.run), '[]')
      from (select n.* from leasehold.holds n where n.job_id = p_id order by n.run desc limit 100) h),
    'refunded', (
      select coalesce(sum(e.available_delta), 0) from leasehold.entries e where e.job_id = p_id and e.kind = 'refund'));
end
$$;
