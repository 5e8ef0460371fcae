-- entries(account, limit, before) → {entries, next}: the history of an account, newest first. Each entry
-- is {id, at, kind, available_delta, held_delta, job_id, reference}; kind is grant, hold, capture,
-- give_back or refund. Pass `next` as before for the page that follows; null: there is none.
-- Errors: LH002 for a blank name or a limit outside of 1 to 1,000.
create or replace function leasehold.entries(p_account text, p_limit int = 100, p_before bigint = null)
returns jsonb language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_answer jsonb;
begin
  perform leasehold._check_text('p_account', p_account, 500);
  perform leasehold._check_int('p_limit', p_limit, 1, 1000);
  select jsonb_build_object(
    'entries', coalesce(jsonb_agg(jsonb_build_object('id', e.id, 'at', leasehold._iso(e.at), 'kind', e.kind,
      'available_delta', e.available_delta, 'held_delta', e.held_delta, 'job_id', e.job_id, 'reference', e.reference)
      order by e.id desc) filter (where e.nth <= p_limit), '[]'),
    'next', case when count(*) > p_limit then min(e.id) filter (where e.nth <= p_limit) end)
  into v_answer
  from (
    select f.*, row_number() over (order by f.id desc) as nth
    from leasehold.entries f
    where f.account = p_account and f.id < coalesce(p_before, 9223372036854775807)
    order by f.id desc limit p_limit + 1) e;
  return v_answer;
end
$$;
