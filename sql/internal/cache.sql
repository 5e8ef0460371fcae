-- The answers of cache_begin.

create or replace function leasehold._cache_answer(
  p_state text, p_value jsonb = null, p_token uuid = null, p_retry_after_ms int = null)
returns jsonb language sql immutable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('state', p_state, 'value', p_value, 'token', p_token, 'retry_after_ms', p_retry_after_ms)
$$;

-- A quarter of what the fill has taken so far: who waits learns of a value soon after it is there, and
-- a fill of a minute is not asked for every 20 ms. No later than the end of its lease.
create or replace function leasehold._cache_wait_ms(p_since timestamptz, p_until timestamptz, p_now timestamptz)
returns int language sql immutable set search_path = pg_catalog, pg_temp as $$
  select greatest(1, ceil(least(
    extract(epoch from p_until - p_now) * 1000,
    least(greatest(extract(epoch from p_now - p_since) * 250, 20), 1000))))::int
$$;
