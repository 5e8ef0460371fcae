-- step_load(id, name) → jsonb: the value that a durable step of this job has stored; SQL null where it
-- has not run to its end yet (a stored null is JSON's null).
create or replace function leasehold.step_load(p_id uuid, p_name text)
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return (select s.value from leasehold.steps s where s.job_id = p_id and s.name = p_name);
end
$$;
