-- note_drain(trigger, report) → true: remembers the last drain of this trigger (cron, webhook, …) for
-- overview. report is the drain's. Of more than 100 triggers those that were not heard of for longest
-- are forgotten. Errors: LH002 for a blank trigger or one above 100 bytes, LH004 a report
-- over 1 MB.
create or replace function leasehold.note_drain(p_trigger text, p_report jsonb)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_old text[];
begin
  perform leasehold._check_text('p_trigger', p_trigger, 100);
  perform leasehold._check_size('p_report', p_report);
  insert into leasehold.drains as d (trigger, at, report) values (p_trigger, clock_timestamp(), coalesce(p_report, 'null'))
  on conflict (trigger) do update set at = excluded.at, report = excluded.report where d.at <= excluded.at;
  -- Picked first: OFFSET behind a lock would lock those that stay as well.
  v_old := array(select o.trigger from leasehold.drains o order by o.at desc, o.trigger offset 100);
  delete from leasehold.drains d where d.trigger in (
    select o.trigger from leasehold.drains o where o.trigger = any (v_old) for update skip locked);
  return true;
end
$$;
