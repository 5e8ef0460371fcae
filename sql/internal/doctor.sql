-- What doctor reads of the server's own catalogs and statistics.

-- The schemas that PostgREST serves, as Supabase sets them: on its role, or on the role in this database.
create or replace function leasehold._exposed_schemas()
returns jsonb language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  v_setting text;
begin
  perform from pg_roles r where r.rolname = 'authenticator';
  if not found then
    return null;
  end if;
  select split_part(c, '=', 2) into v_setting
  from pg_db_role_setting s join pg_roles r on r.oid = s.setrole cross join unnest(s.setconfig) c
  where r.rolname = 'authenticator' and c like 'pgrst.db\_schemas=%'
  order by s.setdatabase desc limit 1;
  return to_jsonb(array(
    select btrim(n, ' "') from unnest(string_to_array(coalesce(nullif(v_setting, ''), 'public'), ',')) n));
end
$$;

-- Whether a role may call every public function; null where there is no such role.
create or replace function leasehold._reaches_all(p_role text)
returns boolean language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  perform from pg_roles r where r.rolname = p_role;
  if not found then
    return null;
  end if;
  return (
    select has_schema_privilege(p_role, n.oid, 'usage') and bool_and(has_function_privilege(p_role, p.oid, 'execute'))
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = '{{schema}}' and not starts_with(p.proname::text, '_') group by n.oid);
end
$$;

-- What keeps dead rows of this database from being cleaned up, the oldest of each kind.
create or replace function leasehold._horizon(p_now timestamptz)
returns jsonb language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return jsonb_build_object(
    'transaction', (
      select jsonb_build_object('name', format('pid %s, %s, %s', a.pid, coalesce(a.application_name, ''), a.state),
        'age_ms', floor(extract(epoch from p_now - a.xact_start) * 1000), 'xids', age(a.backend_xmin))
      from pg_stat_activity a
      where a.datname = current_database() and a.pid <> pg_backend_pid() and a.xact_start is not null
        and a.backend_type = 'client backend'
      order by a.xact_start limit 1),
    'prepared', (
      select jsonb_build_object('name', p.gid, 'age_ms', floor(extract(epoch from p_now - p.prepared) * 1000), 'xids', age(p.transaction))
      from pg_prepared_xacts p where p.database = current_database() order by p.prepared limit 1),
    'slot', (
      select jsonb_build_object('name', s.slot_name, 'age_ms', null, 'xids', greatest(age(s.xmin), age(s.catalog_xmin)))
      from pg_replication_slots s where s.xmin is not null or s.catalog_xmin is not null
      order by greatest(age(s.xmin), age(s.catalog_xmin)) desc limit 1),
    'standby', (
      select jsonb_build_object('name', r.application_name, 'age_ms', null, 'xids', age(r.backend_xmin))
      from pg_stat_replication r where r.backend_xmin is not null order by age(r.backend_xmin) desc limit 1));
end
$$;

-- What holds for the caller's connection, by its role, its database or its own wish.
create or replace function leasehold._session_settings()
returns jsonb language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  v_limit int;
  v_used bigint;
begin
  select l.most, l.used into v_limit, v_used from (
    select r.rolconnlimit, (select count(*) from pg_stat_activity a where a.usename = r.rolname)
    from pg_roles r where r.rolname = session_user
    union all
    select d.datconnlimit, (select count(*) from pg_stat_activity a where a.datname = d.datname)
    from pg_database d where d.datname = current_database()) l (most, used)
  where l.most >= 0 order by l.most - l.used limit 1;
  return (
    select jsonb_object_agg(n.name || '_ms', coalesce(s.setting::bigint, 0))
    from unnest(array['statement_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout']) n (name)
    left join pg_settings s on s.name = n.name)
  || jsonb_build_object('role', session_user,
    'read_only', current_setting('default_transaction_read_only') = 'on',
    'isolation', current_setting('default_transaction_isolation'),
    'synchronous_commit', current_setting('synchronous_commit') <> 'off',
    'limit', v_limit, 'used', case when v_limit is not null then v_used end);
end
$$;

create or replace function leasehold._table_health()
returns jsonb language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('table', t.relname, 'live', t.n_live_tup, 'dead', t.n_dead_tup,
      'autovacuum_at', leasehold._iso(t.last_autovacuum),
      'autovacuum_enabled', coalesce((
        select o.option_value::boolean from pg_options_to_table(c.reloptions) o where o.option_name = 'autovacuum_enabled'), true))
      order by t.relname), '[]')
    from pg_stat_user_tables t join pg_class c on c.oid = t.relid
    where t.schemaname = '{{schema}}');
end
$$;
