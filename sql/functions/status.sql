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
  v_expired boolean;
  v_status jsonb;
begin
  for v_try in 1..2 loop
    -- Inline: pages ask this more often than anything, and each function would cost a twentieth of it.
    select
      case j.status when 'running' then j.lease_until <= v_now when 'queued' then leasehold._expired(j, v_now) else false end,
      jsonb_build_object(
        'id', j.id, 'kind', j.kind, 'status', j.status,
        'attempts', j.attempts, 'max_attempts', j.max_attempts, 'generation', j.generation,
        'progress', j.progress, 'result', j.result, 'error_code', j.last_error_code,
        'cancel_requested', j.cancel_requested_at is not null, 'money', j.money,
        'notice', case
          when j.status = 'running' and j.cancel_requested_at is not null then 'cancelling'
          when j.status = 'queued' and j.started_at is not null then 'retrying'
          when j.finished_at is null or j.money is null then j.status
          else j.status || '_' || j.money end,
        'created_at', leasehold._iso(j.created_at), 'started_at', leasehold._iso(j.started_at),
        'finished_at', case when j.finished_at is not null then leasehold._iso(j.finished_at) end)
    into v_expired, v_status
    from leasehold.jobs j where j.id = p_id and (p_owner is null or j.owner = p_owner);
    exit when v_try = 2 or v_expired is not true or current_setting('transaction_read_only') = 'on';
    perform leasehold._reap(array[p_id], v_now);
  end loop;
  return v_status;
end
$$;
