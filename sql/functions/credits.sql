-- credits(account) → {account, available, held}: what an account may spend, and what its unfinished
-- jobs hold, in one snapshot. Zeros for an account that was never granted anything.
-- Errors: LH002 for a blank name.
create or replace function leasehold.credits(p_account text)
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform leasehold._check_text('p_account', p_account, 500);
  return jsonb_build_object('account', p_account,
    'available', coalesce((select a.available from leasehold.accounts a where a.account = p_account), 0),
    'held', (select coalesce(sum(h.amount), 0) from leasehold.holds h where h.account = p_account and h.state = 'held'));
end
$$;
