-- verify() → {ok, count, violations}: whether what must always hold does, in one statement and so in
-- one snapshot, while all goes on. A violation is {rule, count, ids}, the ids at most 100; none where all
-- is well. Writes nothing, works on a standby too. A violation is a fault of leasehold's, of a hand that
-- changed its tables, or of a disk; the rules (ids are those of jobs where nothing else is said):
--   counts          attempts above max_attempts, or releases that can't be
--   claim           running without a whole claim (generation, attempt, lease within its timeout), or a
--                   lease or a pending rerun without running
--   end             finished_at without an end or an end without it; failed without a code
--   cancel          queued or failed although a cancel was requested
--   start_by        queued with start_within_ms, and no start_by to it
--   key             more than one unfinished job of a kind and key
--   generation      an event knows of a later claim than the job
--   reaped_twice    one claim was reaped twice
--   events          an event of no job
--   steps           a step of no job, or of a claim that was not yet ("id name")
--   once            a name that no job was enqueued under ("kind once")
--   external        a job that charges a ledger elsewhere ended, and nobody looks into it
--   rights          a function or table open to public, anon or authenticated, a table without row level
--                   security, a function that others could shadow (its name)
--   indexes         an index that is not valid: reindex it (its name)
--   available, held, hold_entries, refunds, job_money   as in verify_credits (jobs or accounts)
-- Reads every table once, a million jobs in seconds: for an operator or a test, not for a request.
create or replace function leasehold.verify()
returns jsonb language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with violations as (
    select v.rule, v.id, row_number() over (partition by v.rule order by v.id) as nth
    from (
      select j.rule, j.id from leasehold._unsound_jobs() j
      union all
      select h.rule, h.id from leasehold._unsound_history() h
      union all
      select s.rule, s.id from leasehold._unsound_schema() s
      union all
      select b.rule, coalesce(b.job_id::text, b.account) from leasehold._unbalanced() b) v),
  rules as (
    select v.rule, count(*) as count, jsonb_agg(v.id order by v.nth) filter (where v.nth <= 100) as ids
    from violations v group by v.rule)
  select jsonb_build_object('ok', count(*) = 0, 'count', coalesce(sum(r.count), 0), 'violations',
    coalesce(jsonb_agg(jsonb_build_object('rule', r.rule, 'count', r.count, 'ids', r.ids) order by r.rule), '[]'))
  from rules r
$$;
