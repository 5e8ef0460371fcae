-- enqueue(kind, payload, options) → {outcome, id, status, holder?}: one job into the queue, in the
-- caller's transaction: it is there with the commit, and nothing is with the rollback.
--   options  key · owner · priority (-32768 to 32767, lower first) · run_after (ISO 8601 with zone)
--            or delay_ms · start_within_ms · max_attempts · on_conflict ("conflict", "replace",
--            "rerun") · once (a name) · once_for_ms (30 days) · cost (0 to 2^53 - 1) with account ·
--            external (true: it charges a ledger elsewhere) · trace_context (an object of texts, such as
--            {"traceparent": "00-…"}, at most 8 kB: every claim hands it out)
-- Outcomes, in this order of decision:
--   duplicate  this kind and owner enqueued under the same `once` before: that job's id and status
--   conflict   an unfinished job holds the key: nothing written; holder {id, status}, its id null
--              when the owners differ. An orphan is reaped first and holds no key.
--   replaced   on_conflict replace or rerun: the queued holder has this payload and run_after now
--   rerun      on_conflict rerun: the running holder runs again with this payload when it ends
--   insufficient  the account has less available than the cost: nothing written
--   created    a new job; its cost is held from the account until the job ends: complete captures it,
--              fail, cancel and reap to an end give it back, in the same statement
-- A cost or external goes with no replace or rerun, and a holder that has one is a conflict.
-- Never 23505. Errors: LH002 a bad value, LH003 an unknown option, LH004 a payload over 1 MB,
-- LH005 the key stayed contended.
create or replace function leasehold.enqueue(p_kind text, p_payload jsonb = '{}', p_options jsonb = '{}')
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_straight jsonb;
  v_defaults leasehold.kinds;
begin
  if jsonb_typeof(p_options) is distinct from 'object' then
    perform leasehold._refuse('p_options', p_options::text, 'a JSON object');
  end if;
  v_straight := leasehold._enqueue_straight(p_kind, p_payload, p_options, v_now);
  if v_straight is not null then
    return v_straight;
  end if;
  select k.* into v_defaults from leasehold.kinds k where k.kind = p_kind;
  return leasehold._enqueue(leasehold._new_job(p_kind, p_payload, p_options, v_defaults, 0, v_now),
    p_options ->> 'on_conflict', p_options ->> 'once', (p_options ->> 'once_for_ms')::numeric::bigint, v_now);
end
$$;
