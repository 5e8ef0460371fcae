-- step_names(id) → ["name", …]: the durable steps of this job that are stored, in the order in which
-- they were.
create or replace function leasehold.step_names(p_id uuid)
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return (select coalesce(jsonb_agg(s.name order by s.saved_at, s.name), '[]') from leasehold.steps s where s.job_id = p_id);
end
$$;
