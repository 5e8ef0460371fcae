-- alerts(limit, before, open) → {alerts, next}: what a person must look at, newest first; with open only
-- what nobody has acknowledged. Each alert is {id, at, severity, code, job_id, message, detail, told_at,
-- acknowledged_at, acknowledged_by}; severity is warning or critical, told_at is when an onAlert hook
-- had been told. Codes: MONEY_UNKNOWN (critical: nobody could find out whether a
-- job was charged), MONEY_CHARGED (a charge stays, its settlement has no refund), RELEASED_TEN_TIMES.
-- Pass `next` as before for the page that follows; null: there is none.
-- Errors: LH002 for a limit outside of 1 to 1,000.
create or replace function leasehold.alerts(p_limit int = 100, p_before bigint = null, p_open boolean = false)
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_answer jsonb;
begin
  perform leasehold._check_int('p_limit', p_limit, 1, 1000);
  select jsonb_build_object(
    'alerts', coalesce(jsonb_agg(leasehold._alert_json(e.alert) order by e.nth) filter (where e.nth <= p_limit), '[]'),
    'next', case when count(*) > p_limit then min((e.alert).id) filter (where e.nth <= p_limit) end)
  into v_answer
  from (
    select a as alert, row_number() over (order by a.id desc) as nth from leasehold.alerts a
    where a.id < coalesce(p_before, 9223372036854775807) and (p_open is not true or a.acknowledged_at is null)
    order by a.id desc limit p_limit + 1) e;
  return v_answer;
end
$$;
