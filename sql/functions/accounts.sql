-- accounts(limit, after) → {accounts, next}: accounts by name, a page at a time; each is {account, available,
-- held}. Pass `next` as after for the page that follows; null: there is none.
-- Errors: LH002 for a limit outside of 1 to 1,000.
create or replace function leasehold.accounts(p_limit int = 100, p_after text = null)
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_answer jsonb;
begin
  perform leasehold._check_int('p_limit', p_limit, 1, 1000);
  select jsonb_build_object(
    'accounts', coalesce(jsonb_agg(jsonb_build_object('account', a.account, 'available', a.available,
      'held', (select coalesce(sum(h.amount), 0) from leasehold.holds h where h.account = a.account and h.state = 'held'))
      order by a.nth) filter (where a.nth <= p_limit), '[]'),
    'next', case when count(*) > p_limit then max(a.account) filter (where a.nth = p_limit) end)
  into v_answer
  from (
    select n.account, n.available, row_number() over (order by n.account) as nth
    from leasehold.accounts n where p_after is null or n.account > p_after
    order by n.account limit p_limit + 1) a;
  return v_answer;
end
$$;
