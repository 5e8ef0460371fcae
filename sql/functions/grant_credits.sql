-- grant_credits(account, amount, reference) → {outcome, available}: adds credits to an account, making
-- it where it is new. amount is 1 to 2^53 - 1. The reference names the grant (a payment, an order):
-- unique per account, so that a call may be repeated. Outcomes: granted; duplicate (granted before,
-- nothing changed); refused (available and held together would pass 2^53 - 1).
-- Waits for a transaction that holds the account. Errors: LH002 for a bad value, also where the
-- reference stands for another amount.
create or replace function leasehold.grant_credits(p_account text, p_amount bigint, p_reference text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_available bigint;
  v_before bigint;
  v_outcome text := 'granted';
begin
  perform leasehold._check_text('p_account', p_account, 500);
  perform leasehold._check_int('p_amount', p_amount, 1, 9007199254740991);
  perform leasehold._check_text('p_reference', p_reference, 500);
  v_available := leasehold._own_account(p_account);
  select e.available_delta into v_before from leasehold.entries e
  where e.kind = 'grant' and e.account = p_account and e.reference = p_reference;
  if found then
    perform leasehold._check_repeated(p_reference, v_before, p_amount);
    v_outcome := 'duplicate';
  elsif not leasehold._fits(p_account, v_available, p_amount) then
    v_outcome := 'refused';
  else
    v_available := leasehold._credit(p_account, 'grant', p_amount, null, p_reference, v_now);
  end if;
  return jsonb_build_object('outcome', v_outcome, 'available', v_available);
end
$$;
