-- status(id, owner) → jsonb: one job as its owner may see it, reaped first where its lease or
-- start_by ran out, so that whoever waits for a result also cleans up. Null when the job is unknown,
-- or is not this owner's; owner null asks without that check, for trusted callers.
--   {id, kind, status, attempts, max_attempts, generation, progress, result, error_code,
--    cancel_requested, money, notice, created_at, started_at, finished_at}; times in ISO 8601, UTC
--   money   null (it has none) · held · captured · given_back · refunded, and of a ledger elsewhere
--           checking · not_charged · charged · refunded · unknown
--   notice  what to tell the person who waits, as a code from status and money of this one row: the
--           status, `retrying` or `cancelling`, and behind the status of a finished job its money
-- Reads only, and reaps nothing, in a read-only transaction.
create or replace function leasehold.status(p_id uuid, p_owner text = null)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_job leasehold.jobs;
begin
  select j.* into v_job from leasehold.jobs j where j.id = p_id and (p_owner is null or j.owner = p_owner);
  if found and leasehold._expired(v_job, v_now) and current_setting('transaction_read_only') = 'off' then
    perform leasehold._reap(array[p_id], v_now);
    select j.* into v_job from leasehold.jobs j where j.id = p_id;
  end if;
  if v_job.id is null then
    return null;
  end if;
  return jsonb_build_object(
    'id', v_job.id, 'kind', v_job.kind, 'status', v_job.status,
    'attempts', v_job.attempts, 'max_attempts', v_job.max_attempts, 'generation', v_job.generation,
    'progress', v_job.progress, 'result', v_job.result, 'error_code', v_job.last_error_code,
    'cancel_requested', v_job.cancel_requested_at is not null,
    'money', v_job.money, 'notice', leasehold._notice(v_job),
    'created_at', leasehold._iso(v_job.created_at), 'started_at', leasehold._iso(v_job.started_at),
    'finished_at', leasehold._iso(v_job.finished_at));
end
$$;
