-- retry(id, owner) → {outcome, id, status}: a failed or cancelled job back to queued, due now, with
-- all its attempts; generation, last error and history stay, run grows by 1. Outcomes: retried;
-- conflict (another unfinished job holds its key); insufficient (a job that costs credits takes a new
-- hold of that); money_unsettled (its ledger is being asked: try again when that is known);
-- wrong_status; unknown (or another owner's).
create or replace function leasehold.retry(p_id uuid, p_owner text = null)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  return leasehold._retry(p_id, p_owner, clock_timestamp());
end
$$;
