-- guard(id, generation): the fence for the user's own writes. Call it in the transaction that holds
-- them: it locks the job's row until the commit, so nobody reaps or claims the job meanwhile, and
-- raises LH001 unless this claim is valid, so that a stale worker's writes never commit.
-- The transaction's idle_in_transaction_session_timeout becomes the lease's length (or stays where
-- it is shorter): a holder that freezes loses its lock within the lease. Not on PGlite, which has one
-- session and would lose it. Under REPEATABLE READ a lost race shows as 40001 instead.
create or replace function leasehold.guard(p_id uuid, p_generation int)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_job constant leasehold.jobs := leasehold._lock_claim(p_id, p_generation);
  v_idle_ms constant numeric := extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval) * 1000;
begin
  if v_job.id is null then
    raise exception using errcode = 'LH001',
      message = format('the claim on job %s under generation %s is not valid any more', p_id, p_generation),
      hint = 'Stop working on this job and roll back: another claim owns it, or it has ended.';
  end if;
  if (v_idle_ms = 0 or v_idle_ms > v_job.lease_ms) and version() !~* 'emscripten|emcc|wasm' then
    perform set_config('idle_in_transaction_session_timeout', v_job.lease_ms::text, true);
  end if;
end
$$;
