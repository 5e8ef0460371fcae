-- enqueue_many(jobs, brief) → [{outcome, id, status, holder?}, …]: many jobs in one call, answers in the
-- order of the input. jobs is an array of objects with kind, payload ({}) and the options of enqueue. With
-- brief (false) the answer of a job that is created is its id alone, a text, which takes a fifth less time;
-- a conflict spoils nothing else, a bad value refuses the whole call and names the job's index.
-- Names under `once` are locked in their order, then keys in theirs, so that overlapping calls wait
-- for each other and never deadlock; what meets nobody is inserted in one statement. Of several
-- jobs with the same key or the same name, the first of the input counts; where jobs of one name have
-- different keys, the one that comes first in the order of keys.
-- Accounts are taken last, in the order of their names, and pay in the order of the input: a job that
-- can't be paid is `insufficient`, keeps no key and no name from the next one, and a cheaper one behind
-- it may still be paid.
-- Errors: as enqueue; LH002 also when jobs is no array or has more than 10,000 entries.
create or replace function leasehold.enqueue_many(p_jobs jsonb, p_brief boolean = false)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
begin
  perform leasehold._check_array('p_jobs', p_jobs, 'jobs');
  begin
    return leasehold._enqueue_many(p_jobs, true, v_now, coalesce(p_brief, false));
  exception when sqlstate 'LH002' or sqlstate 'LH003' or sqlstate 'LH004' then
    perform leasehold._check_jobs(p_jobs);
    perform leasehold._refuse_job(p_jobs, v_now);
    raise;
  end;
end
$$;
