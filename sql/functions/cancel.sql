-- cancel(id, owner) → {outcome, status}: cancelled (it was queued), requested (it is running: the next
-- extend tells the worker, and fail, release and reap end it as cancelled, while complete still
-- completes it), finished (too late), unknown (or another owner's). Reaps the job first.
create or replace function leasehold.cancel(p_id uuid, p_owner text = null)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  return leasehold._cancel(p_id, p_owner, clock_timestamp());
end
$$;
