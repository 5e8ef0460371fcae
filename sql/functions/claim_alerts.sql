-- claim_alerts(limit, lease_ms) → [alert, …]: alerts that nobody has been told of, oldest first, for this
-- caller to tell within lease_ms (1 minute); then finish_alerts. One that is not finished by then is
-- handed out again: each is told at least once. Waits for nobody. Alerts as `alerts` answers them.
-- Errors: LH002 for values out of bounds.
create or replace function leasehold.claim_alerts(p_limit int = 10, p_lease_ms int = 60000)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_ids bigint[];
begin
  perform leasehold._check_int('p_limit', p_limit, 1, 1000);
  perform leasehold._check_int('p_lease_ms', p_lease_ms, 1, 2147483647);
  v_ids := array(
    select a.id from leasehold.alerts a
    where a.told_at is null and (a.told_until is null or a.told_until <= v_now)
    order by a.id limit p_limit for no key update skip locked);
  if cardinality(v_ids) = 0 then
    return '[]';
  end if;
  update leasehold.alerts a set told_until = v_now + p_lease_ms * interval '1 millisecond' where a.id = any (v_ids);
  return (select jsonb_agg(leasehold._alert_json(a) order by a.id) from leasehold.alerts a where a.id = any (v_ids));
end
$$;
