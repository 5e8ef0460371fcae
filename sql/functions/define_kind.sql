-- define_kind(kind, defaults) → boolean: sets a kind's defaults, for callers without a definition.
--   defaults  max_attempts (1 to 32767) · backoff_ms (array of milliseconds, one per failed attempt,
--             the last repeated) · lease_ms · timeout_ms · start_within_ms · retain_ms (prune
--             deletes finished jobs older than that). A name left out stays as it is; null takes
--             the library's default again.
-- True when something changed: it writes only then, so every start of a worker may call it.
-- Errors: LH002 a value out of bounds, a reserved kind; LH003 an unknown name.
create or replace function leasehold.define_kind(p_kind text, p_defaults jsonb)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_ten_years_ms constant bigint := 315360000000;
  v_new leasehold.kinds;
  v_old leasehold.kinds;
  v_name text;
  v_value jsonb;
begin
  perform leasehold._check_kind(p_kind);
  perform leasehold._check_options('p_defaults', p_defaults,
    array['max_attempts', 'backoff_ms', 'lease_ms', 'timeout_ms', 'start_within_ms', 'retain_ms']);
  insert into leasehold.kinds (kind) select p_kind
  where not exists (select from leasehold.kinds k where k.kind = p_kind)
  on conflict (kind) do nothing;
  select k.* into v_old from leasehold.kinds k where k.kind = p_kind;
  v_new := v_old;
  for v_name, v_value in select d.key, nullif(d.value, 'null') from jsonb_each(p_defaults) d loop
    if v_name = 'backoff_ms' then
      v_new.backoff_ms := leasehold._json_backoff(v_value);
    elsif v_value is null then
      v_new := jsonb_populate_record(v_new, jsonb_build_object(v_name, null));
    else
      v_new := jsonb_populate_record(v_new, jsonb_build_object(v_name, leasehold._json_int(v_name, v_value, 1, case v_name
        when 'max_attempts' then 32767
        when 'lease_ms' then 2147483647
        when 'timeout_ms' then 2147483647
        else v_ten_years_ms end)));
    end if;
  end loop;
  if v_new is not distinct from v_old then
    return false;
  end if;
  -- Only what this call names: another may have changed the rest since we looked.
  update leasehold.kinds k set
    max_attempts = case when p_defaults ? 'max_attempts' then v_new.max_attempts else k.max_attempts end,
    backoff_ms = case when p_defaults ? 'backoff_ms' then v_new.backoff_ms else k.backoff_ms end,
    lease_ms = case when p_defaults ? 'lease_ms' then v_new.lease_ms else k.lease_ms end,
    timeout_ms = case when p_defaults ? 'timeout_ms' then v_new.timeout_ms else k.timeout_ms end,
    start_within_ms = case when p_defaults ? 'start_within_ms' then v_new.start_within_ms else k.start_within_ms end,
    retain_ms = case when p_defaults ? 'retain_ms' then v_new.retain_ms else k.retain_ms end
  where k.kind = p_kind;
  return true;
end
$$;
