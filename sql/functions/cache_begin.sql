-- cache_begin(key, lease_ms) → {state, value, token, retry_after_ms}: one load for all who ask for a key
-- at the same time, whatever process they are in. state says what to do:
--   hit   value is it: any JSON, null as well
--   fill  nobody has it: make it, within lease_ms, and store it by cache_put under token; where that
--         fails, give up by cache_drop with the token, or others wait until the lease ends
--   wait  somebody makes it: ask again in retry_after_ms, a quarter of the time that they have taken so
--         far (20 to 1,000 ms), and no later than the end of their lease
-- What state does not name is null. A fill whose lease ran out goes to the next who asks, under a new
-- token. A value whose time is over is gone: nobody gets it while a new one is made.
-- A hit and a wait are reads. Of several who ask for a new key, one waits for the other's transaction
-- alone: so call it outside of transactions that stay open. Any other lost race is a wait.
--   key       1 to 500 bytes of text, not blank
--   lease_ms  how long the filler may take before another is let in
-- Errors: LH002 for key and lease_ms.
create or replace function leasehold.cache_begin(p_key text, p_lease_ms int)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_until constant timestamptz := v_now + p_lease_ms * interval '1 millisecond';
  v_token constant uuid := gen_random_uuid();
  v_entry leasehold.cache;
begin
  perform leasehold._check_text('p_key', p_key, 500);
  perform leasehold._check_int('p_lease_ms', p_lease_ms, 1, 2147483647);
  select c.* into v_entry from leasehold.cache c where c.key = p_key;
  if not found then
    insert into leasehold.cache (key, token, since, expires_at) values (p_key, v_token, v_now, v_until)
    on conflict (key) do nothing;
    if found then
      return leasehold._cache_answer('fill', p_token => v_token);
    end if;
    -- A rival was first, and by now may be done. Gone again (no row), it is a wait.
    select c.* into v_entry from leasehold.cache c where c.key = p_key;
  end if;
  if v_entry.expires_at > v_now then
    if v_entry.token is null then
      return leasehold._cache_answer('hit', p_value => v_entry.value);
    end if;
    return leasehold._cache_answer('wait', p_retry_after_ms => leasehold._cache_wait_ms(v_entry.since, v_entry.expires_at, v_now));
  end if;
  perform from leasehold.cache c where c.key = p_key and c.expires_at <= v_now for no key update skip locked;
  if not found then
    return leasehold._cache_answer('wait', p_retry_after_ms => 20);
  end if;
  update leasehold.cache c set token = v_token, value = null, since = v_now, expires_at = v_until where c.key = p_key;
  return leasehold._cache_answer('fill', p_token => v_token);
end
$$;
