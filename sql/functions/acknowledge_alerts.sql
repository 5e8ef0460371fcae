-- acknowledge_alerts(ids, by) → int: a person has seen these alerts, named if wanted; answers how many were
-- open before. They stay, and keep who was first.
-- Errors: LH002 for a blank name.
create or replace function leasehold.acknowledge_alerts(p_ids bigint[], p_by text = null)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_count int;
begin
  if p_by is not null then
    perform leasehold._check_text('p_by', p_by, 500);
  end if;
  with locked as (
    select a.id from leasehold.alerts a where a.id = any (p_ids) and a.acknowledged_at is null
    order by a.id for no key update)
  update leasehold.alerts a set acknowledged_at = clock_timestamp(), acknowledged_by = p_by
  from locked l where a.id = l.id;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
