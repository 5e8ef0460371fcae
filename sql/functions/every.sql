-- every(name, interval_ms) → boolean: true to at most one caller an interval, so that traffic itself
-- can start housekeeping without a cron. Counts once committed. A row that another caller holds
-- answers false at once; only the first use of a name may wait for another's.
-- Errors: LH002 for a blank name or an interval below 1 ms.
create or replace function leasehold.every(p_name text, p_interval_ms int)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
begin
  perform leasehold._check_text('p_name', p_name, 500);
  perform leasehold._check_int('p_interval_ms', p_interval_ms, 1, 2147483647);
  perform from leasehold.ticks t where t.name = p_name;
  if not found then
    insert into leasehold.ticks (name, last_at) values (p_name, v_now) on conflict (name) do nothing;
    if found then
      return true;
    end if;
  end if;
  perform from leasehold.ticks t
  where t.name = p_name and t.last_at <= v_now - p_interval_ms * interval '1 millisecond'
  for no key update skip locked;
  if not found then
    return false;
  end if;
  update leasehold.ticks t set last_at = v_now where t.name = p_name;
  return true;
end
$$;
