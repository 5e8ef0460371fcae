-- schema_version() → {version, checksum}: which migrations and which functions are installed.
create or replace function leasehold.schema_version()
returns jsonb language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('version', m.version, 'checksum', m.checksum)
  from leasehold.migrations m order by m.version desc limit 1
$$;
