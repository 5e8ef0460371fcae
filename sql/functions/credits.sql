-- credits(account) → {account, available, held}: what an account may spend, and what its unfinished
-- jobs hold, in one snapshot. Zeros for an account that was never granted anything.
-- Errors: LH002 for a blank name.
create or replace function leasehold.credits(p_account text)
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform leasehold._check_text('p_account', p_account, 500);
  return leasehold._credits(p_account);
end
$$;
