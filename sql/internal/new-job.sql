-- From the arguments of an enqueue to the row of a job.

-- What an enqueue accepts as options.
create or replace function leasehold._enqueue_options()
returns text[] language sql immutable set search_path = pg_catalog, pg_temp as $$
  select array['key', 'owner', 'priority', 'run_after', 'delay_ms', 'start_within_ms', 'max_attempts',
    'on_conflict', 'once', 'once_for_ms', 'cost', 'account', 'external',
    'trace_context']
$$;

-- A new row of this kind with everything at its default.
create or replace function leasehold._blank_job(p_kind text, p_defaults leasehold.kinds, p_nth int, p_now timestamptz)
returns leasehold.jobs language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs;
begin
  v_job.id := leasehold._uuid7(p_now + p_nth * interval '1 microsecond');
  v_job.kind := p_kind;
  v_job.status := 'queued';
  v_job.priority := 0;
  v_job.attempts := 0;
  v_job.max_attempts := coalesce(p_defaults.max_attempts, 5);
  v_job.generation := 0;
  v_job.releases := 0;
  v_job.budget_releases := 0;
  v_job.run := 1;
  v_job.run_after := p_now;
  v_job.created_at := p_now;
  v_job.start_within_ms := p_defaults.start_within_ms;
  v_job.external := false;
  return v_job;
end
$$;

-- Checks kind, payload and options, and builds the row. p_kinds holds the kind's defaults (or
-- null); p_nth spreads the ids of one bulk call a microsecond apart, so that they sort as given.
create or replace function leasehold._new_job(
  p_kind text, p_payload jsonb, p_options jsonb, p_defaults leasehold.kinds, p_nth int, p_now timestamptz)
returns leasehold.jobs language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs;
  v_option text;
  v_value jsonb;
begin
  perform leasehold._check_kind(p_kind);
  v_job := leasehold._blank_job(p_kind, p_defaults, p_nth, p_now);
  v_job.payload := coalesce(p_payload, 'null');
  perform leasehold._check_size('payload', v_job.payload);
  if p_options <> '{}' then
    for v_option, v_value in select o.key, o.value from jsonb_each(p_options) o loop
      v_job := leasehold._with_option(v_job, v_option, v_value, p_now);
    end loop;
    perform leasehold._check_together(p_options);
    if v_job.cost is not null or v_job.external then
      perform leasehold._check_money(v_job, p_options);
    end if;
  end if;
  if v_job.start_within_ms is not null then
    v_job.start_by := leasehold._start_by(v_job.run_after, v_job.start_within_ms, p_now);
  end if;
  return v_job;
end
$$;

-- Checks one option and writes it into the row; those that are no column are checked only.
create or replace function leasehold._with_option(
  p_job leasehold.jobs, p_option text, p_value jsonb, p_now timestamptz)
returns leasehold.jobs language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_job leasehold.jobs := p_job;
  v_ten_years_ms constant bigint := 315360000000;
begin
  case p_option
    when 'key' then v_job.key := leasehold._json_text('key', p_value);
    when 'owner' then v_job.owner := leasehold._json_text('owner', p_value);
    when 'priority' then v_job.priority := leasehold._json_int('priority', p_value, -32768, 32767);
    when 'run_after' then v_job.run_after := leasehold._json_time('run_after', p_value);
    when 'delay_ms' then
      v_job.run_after := p_now + leasehold._json_int('delay_ms', p_value, 0, v_ten_years_ms) * interval '1 millisecond';
    when 'start_within_ms' then
      v_job.start_within_ms := leasehold._json_int('start_within_ms', p_value, 1, v_ten_years_ms);
    when 'max_attempts' then v_job.max_attempts := leasehold._json_int('max_attempts', p_value, 1, 32767);
    when 'on_conflict' then
      if p_value not in ('"conflict"', '"replace"', '"rerun"') then
        perform leasehold._refuse('on_conflict', p_value::text, '"conflict", "replace" or "rerun"');
      end if;
    when 'cost' then
      v_job.cost := nullif(leasehold._json_int('cost', p_value, 0, 9007199254740991), 0);
      v_job.money := case when v_job.cost is not null then 'held' end;
    when 'account' then v_job.account := leasehold._json_text('account', p_value);
    when 'external' then v_job.external := leasehold._json_boolean('external', p_value);
    when 'trace_context' then v_job.trace_context := leasehold._json_trace_context('trace_context', p_value);
    when 'once' then perform leasehold._json_text('once', p_value);
    when 'once_for_ms' then perform leasehold._json_int('once_for_ms', p_value, 1, v_ten_years_ms);
    else perform leasehold._refuse_option(p_option, leasehold._enqueue_options());
  end case;
  return v_job;
end
$$;

-- Options that contradict each other, or that mean nothing alone.
create or replace function leasehold._check_together(p_options jsonb)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_options ? 'run_after' and p_options ? 'delay_ms' then
    perform leasehold._refuse('delay_ms', p_options ->> 'delay_ms', 'either run_after or delay_ms, not both');
  elsif p_options ? 'once_for_ms' and p_options ->> 'once' is null then
    perform leasehold._refuse('once_for_ms', p_options ->> 'once_for_ms', 'once_for_ms only together with once');
  elsif p_options ->> 'on_conflict' in ('replace', 'rerun') and p_options ->> 'key' is null then
    perform leasehold._refuse('on_conflict', p_options ->> 'on_conflict', 'on_conflict only together with a key');
  end if;
end
$$;

-- A job that costs credits, or charges a ledger elsewhere.
create or replace function leasehold._check_money(p_job leasehold.jobs, p_options jsonb)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_job.cost is not null and p_job.external then
    perform leasehold._refuse('external', 'true', 'either a cost or external, not both');
  elsif p_job.cost is not null and p_job.account is null then
    perform leasehold._refuse('account', 'null', 'the account that the cost is held from');
  elsif p_options ->> 'on_conflict' in ('replace', 'rerun') then
    perform leasehold._refuse('on_conflict', p_options ->> 'on_conflict',
      '"conflict" where the job has a cost or is external: its money belongs to one payload');
  end if;
end
$$;
