-- Rights, laid anew at every install and upgrade. Public functions (no leading underscore) may be
-- called by the granted roles alone; nobody but the owner reaches a table. Nothing relies on
-- default privileges: whatever a role got by itself is taken away first.
do $$
declare
  v_schema constant text := '{{schema}}';
  v_namespace constant oid := (select n.oid from pg_catalog.pg_namespace n where n.nspname = v_schema);
  v_asked constant text[] := array[]::text[] /* roles */;
  v_roles text[];
  v_public constant regprocedure[] := array(
    select p.oid::regprocedure from pg_catalog.pg_proc p
    where p.pronamespace = v_namespace and not starts_with(p.proname::text, '_'));
  v_role text;
  v_function regprocedure;
  v_table regclass;
begin
  -- Granted before (they hold usage on the schema), asked for now, and service_role where it exists.
  v_roles := array(
    select distinct r.rolname::text from pg_catalog.pg_roles r
    where r.rolname = any (v_asked) or r.rolname = 'service_role' or r.oid in (
      select a.grantee from pg_catalog.pg_namespace n, lateral aclexplode(n.nspacl) a
      where n.oid = v_namespace and a.grantee <> n.nspowner and a.privilege_type = 'USAGE'));
  foreach v_role in array v_asked loop
    if not v_role = any (v_roles) then
      raise exception using errcode = 'LH002',
        message = format('role %I does not exist', v_role),
        hint = 'Create the role first, or name one that exists.';
    end if;
  end loop;
  if v_asked && array['anon', 'authenticated'] then
    raise exception using errcode = 'LH002',
      message = 'anon and authenticated can''t be granted the functions: they serve trusted callers alone',
      hint = 'Grant them to the role of your server, service_role for example.';
  end if;
  v_roles := array(select r from unnest(v_roles) r where r not in ('anon', 'authenticated'));

  -- Take away from everyone but the owner: whoever stands in an access list of the schema.
  for v_role in
    select 'public' union
    select quote_ident(r.rolname) from pg_catalog.pg_roles r, pg_catalog.pg_namespace n
    where n.oid = v_namespace and r.oid <> n.nspowner and r.oid in (
      select a.grantee from aclexplode(n.nspacl) a
      union select a.grantee from pg_catalog.pg_proc p, aclexplode(p.proacl) a where p.pronamespace = n.oid
      union select a.grantee from pg_catalog.pg_class c, aclexplode(c.relacl) a where c.relnamespace = n.oid)
  loop
    execute format('revoke all on schema %I from %s', v_schema, v_role);
    execute format('revoke all on all tables in schema %I from %s', v_schema, v_role);
    execute format('revoke all on all sequences in schema %I from %s', v_schema, v_role);
    execute format('revoke all on all routines in schema %I from %s', v_schema, v_role);
  end loop;

  for v_table in
    select c.oid::regclass from pg_catalog.pg_class c
    where c.relnamespace = v_namespace and c.relkind in ('r', 'p') and not c.relrowsecurity
  loop
    execute format('alter table %s enable row level security', v_table);
  end loop;
  -- Without a policy nobody reaches a row either; with this one, who reads the schema sees that it is meant.
  for v_table in
    select c.oid::regclass from pg_catalog.pg_class c
    where c.relnamespace = v_namespace and c.relkind in ('r', 'p')
      and not exists (select from pg_catalog.pg_policy p where p.polrelid = c.oid)
  loop
    execute format('create policy functions_only on %s using (false)', v_table);
  end loop;

  v_function := to_regprocedure(format('%I.my_job(uuid)', v_schema));
  if v_function is not null then
    execute format('grant usage on schema %I to authenticated', v_schema);
    execute format('grant execute on function %s to authenticated', v_function);
  end if;

  foreach v_role in array v_roles loop
    execute format('grant usage on schema %I to %I', v_schema, v_role);
    foreach v_function in array v_public loop
      execute format('grant execute on function %s to %I', v_function, v_role);
    end loop;
  end loop;
end
$$;
