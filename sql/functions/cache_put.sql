-- cache_put(key, token, value, ttl_ms) → boolean: stores what a fill has made, for ttl_ms from now.
-- False: nothing stored. The fill is not this token's any more: another has it, it was stored or given
-- up already, or the key was invalidated meanwhile, so that a value from before cannot come back. A fill
-- whose lease ran out is still its token's as long as nobody has taken it over (up to an hour; then
-- prune may have it).
--   value   any JSON up to 1 MB; SQL null is stored as JSON's null
--   ttl_ms  1 to 2,147,483,647
-- Errors: LH002 key and ttl_ms; LH004 a value over 1 MB.
create or replace function leasehold.cache_put(p_key text, p_token uuid, p_value jsonb, p_ttl_ms int)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
begin
  perform leasehold._check_text('p_key', p_key, 500);
  perform leasehold._check_size('p_value', p_value);
  perform leasehold._check_int('p_ttl_ms', p_ttl_ms, 1, 2147483647);
  update leasehold.cache c
  set token = null, value = coalesce(p_value, 'null'), since = v_now, expires_at = v_now + p_ttl_ms * interval '1 millisecond'
  where c.key = p_key and c.token = p_token;
  return found;
end
$$;
