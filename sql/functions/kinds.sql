-- kinds() → {at, kinds: [{kind, paused_at, workers, max_attempts, backoff_ms, lease_ms, timeout_ms,
-- start_within_ms, retain_ms}]}: every kind that was defined, paused, or has unfinished jobs or a
-- worker, by name, with its defaults (null: the library's own) and how many workers take it.
create or replace function leasehold.kinds()
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_kinds jsonb;
begin
  select coalesce(jsonb_agg(jsonb_build_object(
      'kind', n.kind, 'paused_at', leasehold._iso(k.paused_at),
      'workers', (select count(*) from leasehold.workers w where n.kind = any (w.kinds) and w.expires_at > v_now),
      'max_attempts', k.max_attempts, 'backoff_ms', k.backoff_ms, 'lease_ms', k.lease_ms, 'timeout_ms', k.timeout_ms,
      'start_within_ms', k.start_within_ms, 'retain_ms', k.retain_ms) order by n.kind), '[]')
  into v_kinds
  from (
    select d.kind from leasehold.kinds d
    union select unnest(leasehold._kinds_unfinished())
    union select unnest(w.kinds) from leasehold.workers w where w.expires_at > v_now) n (kind)
  left join leasehold.kinds k on k.kind = n.kind;
  return jsonb_build_object('at', leasehold._iso(v_now), 'kinds', v_kinds);
end
$$;
