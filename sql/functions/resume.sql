-- resume(kind) → boolean: jobs of this kind are claimed again. True when it was paused before.
create or replace function leasehold.resume(p_kind text)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
begin
  perform leasehold._check_kind(p_kind);
  update leasehold.kinds k set paused_at = null where k.kind = p_kind and k.paused_at is not null;
  if not found then
    return false;
  end if;
  perform leasehold._wake(p_kind, v_now, v_now);
  return true;
end
$$;
