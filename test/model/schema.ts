/** The tables that the calls write. */
export const written = [
  ...["jobs", "kinds", "job_events", "once", "steps", "accounts", "holds", "entries"],
];

/**
 * What the drivers need in the database, beside leasehold: the state as the model has it, and many calls
 * in one round trip, each from the same rows.
 */
export const schema = `
create schema model;

-- The state in the model's terms, with ids in place of names.
create function model.state() returns jsonb language plpgsql as $$
declare
  v_now constant timestamptz := clock_timestamp();
begin
  return jsonb_build_object(
    'jobs', (
      select coalesce(jsonb_object_agg(j.id, jsonb_build_object(
        'id', j.id, 'kind', j.kind, 'key', j.key, 'owner', j.owner, 'payload', j.payload, 'priority', j.priority,
        'status', j.status, 'attempts', j.attempts, 'maxAttempts', j.max_attempts, 'generation', j.generation,
        'releases', j.releases, 'budgetReleases', j.budget_releases, 'run', j.run, 'due', j.run_after <= v_now,
        'startWithin', j.start_within_ms is not null, 'startBy', case when j.status = 'queued' and j.start_by > v_now
          and j.start_by < j.run_after + j.start_within_ms * interval '1 millisecond' then 'too early'
          else model.moment(j.start_by, v_now) end,
        'started', j.started_at is not null, 'lease', model.moment(j.lease_until, v_now),
        'timeout', model.moment(j.timeout_at, v_now), 'cancelRequested', j.cancel_requested_at is not null,
        'rerun', j.rerun, 'completedUnder', case j.status when 'completed' then j.generation else (
          select max(e.generation) from leasehold.job_events e
          where e.job_id = j.id and e.event = 'rerun' and e.detail ->> 'after' = 'completed') end,
        'error', j.last_error_code, 'progress', j.progress, 'result', j.result, 'steps', (
          select coalesce(jsonb_object_agg(s.name, s.value), '{}') from leasehold.steps s where s.job_id = j.id))
        || jsonb_build_object('money', j.money, 'cost', j.cost, 'account', j.account)), '{}')
      from leasehold.jobs j),
    'accounts', (select coalesce(jsonb_object_agg(a.account, a.available), '{}') from leasehold.accounts a),
    'grants', (
      select coalesce(jsonb_object_agg(g.account, g.sums), '{}') from (
        select e.account, jsonb_object_agg(e.reference, e.available_delta) as sums
        from leasehold.entries e where e.kind = 'grant' group by e.account) g),
    'holds', (
      select coalesce(jsonb_object_agg(h.job_id, jsonb_build_object(
        'account', h.account, 'amount', h.amount, 'state', h.state, 'refunds', (
          select coalesce(jsonb_object_agg(e.reference, e.available_delta), '{}')
          from leasehold.entries e where e.kind = 'refund' and e.job_id = h.job_id))), '{}')
      from (select distinct on (l.job_id) l.* from leasehold.holds l order by l.job_id, l.run desc) h),
    'once', (
      select coalesce(jsonb_object_agg(concat_ws(' ', o.kind, o.owner, o.once), o.job_id), '{}')
      from leasehold.once o where o.expires_at > v_now),
    'paused', (
      select coalesce(jsonb_agg(k.kind order by k.kind), '[]') from leasehold.kinds k where k.paused_at is not null));
end
$$;

create function model.moment(p_at timestamptz, p_now timestamptz) returns text language sql immutable as $$
  select case when p_at <= p_now then 'passed' when p_at > p_now then 'ahead' end
$$;

-- What a statement answers; what it raises, as {error}.
create function model.answer(p_statement text) returns jsonb language plpgsql as $$
declare
  v_answer jsonb;
begin
  execute p_statement into v_answer;
  return v_answer;
exception
  when sqlstate 'LH001' or sqlstate 'LH002' then
    return jsonb_build_object('error', sqlstate);
end
$$;

-- One call for good: its answer, and the state after it.
create function model.step(p_statement text) returns jsonb language plpgsql as $$
declare
  v_answer constant jsonb := model.answer(p_statement);
begin
  return jsonb_build_object('answer', v_answer, 'state', model.state());
end
$$;

-- The rows of all tables that the calls write.
create function model.rows() returns jsonb language plpgsql as $$
declare
  v_rows jsonb := '{}';
  v_table text;
  v_part jsonb;
begin
  foreach v_table in array array['${written.join("', '")}'] loop
    execute format('select coalesce(jsonb_agg(to_jsonb(t)), ''[]'') from leasehold.%I t', v_table) into v_part;
    v_rows := v_rows || jsonb_build_object(v_table, v_part);
  end loop;
  return v_rows;
end
$$;

create function model.restore(p_rows jsonb) returns void language plpgsql as $$
declare
  v_table text;
begin
  for v_table in select jsonb_object_keys(p_rows) loop
    execute format('delete from leasehold.%I', v_table);
    if p_rows -> v_table <> '[]' then
      execute format('insert into leasehold.%1$I overriding system value
        select * from jsonb_populate_recordset(null::leasehold.%1$I, $1)', v_table) using p_rows -> v_table;
    end if;
  end loop;
end
$$;

-- Each of the statements from these rows on, all undone in the end: what it answers, and the state after
-- it. Where p_keep says so, also the rows that it leaves, and what verify finds in them.
create function model.visit(p_rows jsonb, p_statements text[], p_keep boolean[]) returns jsonb language plpgsql as $$
declare
  v_ends jsonb[] := '{}';
  v_end jsonb;
begin
  begin
    perform model.restore(p_rows);
    for i in 1..cardinality(p_statements) loop
      begin
        v_end := jsonb_build_object('answer', model.answer(p_statements[i]), 'state', model.state());
        if p_keep[i] then
          v_end := v_end || jsonb_build_object('rows', model.rows(), 'verify', leasehold.verify());
        end if;
        raise exception using errcode = 'MD001';
      exception when sqlstate 'MD001' then
        v_ends := v_ends || v_end;
      end;
    end loop;
    raise exception using errcode = 'MD001';
  exception when sqlstate 'MD001' then
    return to_jsonb(v_ends);
  end;
end
$$;`;
