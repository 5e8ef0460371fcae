-- refund(job_id, amount, reference) → {outcome, available}: gives back what a completed job cost, or
-- part of it, to the account that paid. The reference is unique per job, so that a call may be
-- repeated. All refunds of a job together never exceed what it captured; when they reach that, its
-- money is `refunded`. Works after the job was pruned. Outcomes: refunded; duplicate (refunded before,
-- nothing changed); refused (more than is left of the capture, or nothing was captured: `available`
-- is null where the job never cost anything).
-- Waits for a transaction that holds the job or the account. Errors: LH002 for a bad value, also where
-- the reference stands for another amount.
create or replace function leasehold.refund(p_job_id uuid, p_amount bigint, p_reference text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_hold leasehold.holds;
  v_available bigint;
  v_refunded bigint;
  v_before bigint;
begin
  perform leasehold._check_int('p_amount', p_amount, 1, 9007199254740991);
  perform leasehold._check_text('p_reference', p_reference, 500);
  perform from leasehold.jobs j where j.id = p_job_id for no key update;
  select h.* into v_hold from leasehold.holds h where h.job_id = p_job_id order by h.run desc limit 1 for no key update;
  if v_hold.id is null then
    return jsonb_build_object('outcome', 'refused', 'available', null);
  end if;
  v_available := leasehold._own_account(v_hold.account);
  select coalesce(sum(e.available_delta), 0), max(e.available_delta) filter (where e.reference = p_reference)
  into v_refunded, v_before from leasehold.entries e where e.kind = 'refund' and e.job_id = p_job_id;
  if v_before is not null then
    perform leasehold._check_repeated(p_reference, v_before, p_amount);
    return jsonb_build_object('outcome', 'duplicate', 'available', v_available);
  elsif v_hold.state <> 'captured' or v_refunded + p_amount > v_hold.amount
    or not leasehold._fits(v_hold.account, v_available, p_amount)
  then
    return jsonb_build_object('outcome', 'refused', 'available', v_available);
  end if;
  v_available := leasehold._credit(v_hold.account, 'refund', p_amount, p_job_id, p_reference, v_now);
  if v_refunded + p_amount = v_hold.amount then
    update leasehold.jobs j set money = 'refunded' where j.id = p_job_id;
  end if;
  return jsonb_build_object('outcome', 'refunded', 'available', v_available);
end
$$;
