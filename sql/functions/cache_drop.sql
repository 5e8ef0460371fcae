-- cache_drop(key, token) → boolean: with a token, gives up its fill, and the next who asks fills at once;
-- without one, invalidates the key: its value goes, and a fill under way can store nothing any more.
-- False: there was nothing of that kind.
-- In a transaction it counts from the commit. Invalidate after the commit of what has changed: a fill
-- that began between the two has read what was before.
-- Errors: LH002 for the key.
create or replace function leasehold.cache_drop(p_key text, p_token uuid = null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
begin
  perform leasehold._check_text('p_key', p_key, 500);
  delete from leasehold.cache c where c.key = p_key and (p_token is null or c.token = p_token);
  return found;
end
$$;
