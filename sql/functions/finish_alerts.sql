-- finish_alerts(ids) → int: these alerts have been told; answers how many had not been before.
create or replace function leasehold.finish_alerts(p_ids bigint[])
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_count int;
begin
  update leasehold.alerts a set told_at = v_now where a.id = any (p_ids) and a.told_at is null;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
