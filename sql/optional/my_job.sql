-- my_job(id) → jsonb: one job of the signed-in user's own, for Supabase: the status of the job whose
-- owner is `auth.uid()`, reaped first where its lease or start_by ran out. Null for everyone else's,
-- for an id that is unknown, and for who is not signed in.
--   {id, status, progress, result, error_code, cancel_requested, money, notice, created_at, started_at,
--    finished_at}, as in status
-- Only where it was asked for (`leasehold migrate --my-job`), and the one function that the role
-- authenticated may call.
create or replace function leasehold.my_job(p_id uuid)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_owner constant text := auth.uid();
begin
  -- Without an owner, status would show any job.
  if v_owner is null then
    return null;
  end if;
  return leasehold.status(p_id, v_owner) - array['kind', 'attempts', 'max_attempts', 'generation'];
end
$$;
