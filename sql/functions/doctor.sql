-- doctor() → jsonb: what the database itself knows of how well leasehold is set up in it; the command
-- `leasehold doctor` judges it. Reads only. What the owner of the schema may not see is null.
--   {at, server, session, schema, exposed, horizon, tables, queue, kinds, workers, drains, alerts}
--   server   {version, in_recovery, max_connections, connections, autovacuum}
--   session  {role, statement_timeout_ms, idle_session_timeout_ms, idle_in_transaction_session_timeout_ms,
--            transaction_timeout_ms, read_only, isolation, synchronous_commit, limit, used}: what holds for the
--            caller's connection (0: no timeout), and the smaller limit of its role's or database's
--            connections, with how many of those are in use; null: no limit
--   schema   {version, checksum, owner, service_role, unsound: [{rule, id}]}: whether service_role may call
--            every function (null: no such role); rights, row level security and indexes by verify's rules
--   exposed  the schemas that PostgREST serves, where its role (authenticator) says; null: no such role
--   horizon  {transaction, prepared, slot, standby}: each {name, age_ms, xids} of what holds back vacuum
--            for longest, of that kind; null: nothing
--   tables   [{table, live, dead, autovacuum_at, autovacuum_enabled}]
--   queue    {due, running, expired, oldest_due_ms, oldest_expired_ms}, the numbers up to 10,000
--   kinds    [{kind, paused_at, workers, lease_ms, run_p95_ms, sample}]
--   workers  how many are alive, and how many of them listen: {alive, listening}
--   drains   as in overview
--   alerts   {open, critical}
create or replace function leasehold.doctor()
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_overview constant jsonb := leasehold.overview();
begin
  return jsonb_build_object('at', leasehold._iso(v_now),
    'server', jsonb_build_object(
      'version', current_setting('server_version_num')::int, 'in_recovery', pg_is_in_recovery(),
      'max_connections', current_setting('max_connections')::int,
      'connections', (select count(*) from pg_stat_activity a where a.backend_type = 'client backend'),
      'autovacuum', current_setting('autovacuum') = 'on'),
    'session', leasehold._session_settings(),
    'schema', leasehold.schema_version() || jsonb_build_object('owner', current_user, 'service_role', leasehold._reaches_all('service_role'), 'unsound', (
      select coalesce(jsonb_agg(jsonb_build_object('rule', s.rule, 'id', s.id) order by s.rule, s.id), '[]')
      from leasehold._unsound_schema() s)),
    'exposed', leasehold._exposed_schemas(),
    'horizon', leasehold._horizon(v_now),
    'tables', leasehold._table_health(),
    'queue', jsonb_build_object(
      'due', v_overview -> 'due', 'running', v_overview -> 'running', 'expired', v_overview -> 'expired',
      'oldest_due_ms', v_overview -> 'oldest_due_ms',
      'oldest_expired_ms', (
        select floor(extract(epoch from v_now - min(f.lease_until)) * 1000)
        from unnest(leasehold._kinds_unfinished()) k (kind) cross join lateral (
          select j.lease_until from leasehold.jobs j
          where j.status = 'running' and j.kind = k.kind and j.lease_until <= v_now order by j.lease_until limit 1) f)),
    'kinds', (
      select coalesce(jsonb_agg(jsonb_build_object('kind', k ->> 'kind', 'paused_at', k -> 'paused_at', 'workers', k -> 'workers',
        'lease_ms', coalesce(t -> 'lease_ms', k -> 'lease_ms'), 'run_p95_ms', t -> 'run_p95_ms', 'sample', coalesce(t -> 'sample', '0'))
        order by k ->> 'kind'), '[]')
      from jsonb_array_elements(leasehold.kinds() -> 'kinds') k
      left join jsonb_array_elements(leasehold.timings() -> 'kinds') t on t ->> 'kind' = k ->> 'kind'),
    'workers', (
      select jsonb_build_object('alive', count(*), 'listening', count(w.listener))
      from leasehold.workers w where w.expires_at > v_now),
    'drains', v_overview -> 'drains', 'alerts', v_overview -> 'alerts');
end
$$;
