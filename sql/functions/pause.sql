-- pause(kind) → boolean: no job of this kind is claimed any more until resume; running ones go on.
-- True when it was not paused before.
create or replace function leasehold.pause(p_kind text)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
begin
  perform leasehold._check_kind(p_kind);
  insert into leasehold.kinds as k (kind, paused_at) values (p_kind, v_now)
  on conflict (kind) do update set paused_at = v_now where k.paused_at is null;
  return found;
end
$$;
