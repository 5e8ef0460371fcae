-- Ledgers elsewhere: a job that charges one and ends otherwise than completed has money `checking`
-- until a job of kind leasehold.reconcile has asked that ledger. That job's lease, fence, backoff and
-- attempts are the reconciler's.

-- A person must look at this.
create or replace function leasehold._alert(
  p_severity text, p_code text, p_job_id uuid, p_message text, p_detail jsonb, p_now timestamptz)
returns void language sql volatile set search_path = pg_catalog, pg_temp as $$
  insert into leasehold.alerts (at, severity, code, job_id, message, detail)
  values (p_now, p_severity, p_code, p_job_id, p_message, p_detail)
$$;

create or replace function leasehold._alert_json(p_alert leasehold.alerts)
returns jsonb language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('id', p_alert.id, 'at', leasehold._iso(p_alert.at), 'severity', p_alert.severity,
    'code', p_alert.code, 'job_id', p_alert.job_id, 'message', p_alert.message, 'detail', p_alert.detail,
    'told_at', leasehold._iso(p_alert.told_at),
    'acknowledged_at', leasehold._iso(p_alert.acknowledged_at), 'acknowledged_by', p_alert.acknowledged_by)
$$;

-- Enqueues the look at the ledger for a job that has just ended. Its key names job and run, so it waits
-- for nobody: no other call can have made it.
create or replace function leasehold._reconcile(p_job leasehold.jobs, p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_look leasehold.jobs := leasehold._blank_job('leasehold.reconcile', null, 0, p_now);
begin
  v_look.max_attempts := 10;
  v_look.key := p_job.id || ':' || p_job.run;
  v_look.payload := jsonb_build_object('id', p_job.id, 'run', p_job.run, 'kind', p_job.kind, 'key', p_job.key,
    'owner', p_job.owner, 'payload', p_job.payload);
  insert into leasehold.jobs select v_look.*;
  perform leasehold._wake(v_look.kind, p_now, p_now);
end
$$;

-- How long prune keeps the library's own jobs; null for others.
create or replace function leasehold._own_retain_ms(p_kind text)
returns bigint language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case p_kind when 'leasehold.reconcile' then 2592000000 end
$$;

-- The job whose ledger a reconcile job looks at.
create or replace function leasehold._subject(p_look leasehold.jobs)
returns uuid language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case when p_look.kind = 'leasehold.reconcile' then (p_look.payload ->> 'id')::uuid end
$$;

-- Locks the job that a reconcile job is about, which comes before that one; others have none. Waits.
create or replace function leasehold._lock_subject(p_id uuid)
returns void language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_subject uuid;
begin
  select leasehold._subject(j) into v_subject from leasehold.jobs j where j.id = p_id;
  if v_subject is not null then
    perform from leasehold.jobs j where j.id = v_subject for no key update;
  end if;
end
$$;

-- The same without waiting; false where somebody else has it.
create or replace function leasehold._try_subject(p_look leasehold.jobs)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_subject constant uuid := leasehold._subject(p_look);
begin
  perform from leasehold.jobs j where j.id = v_subject for no key update skip locked;
  return found or not exists (select from leasehold.jobs j where j.id = v_subject);
end
$$;

-- Writes what is now known of the money of a reconcile job's subject.
create or replace function leasehold._settle(p_look leasehold.jobs, p_money text, p_now timestamptz)
returns void language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_subject constant uuid := leasehold._subject(p_look);
begin
  update leasehold.jobs j set money = p_money
  where j.id = v_subject and j.run = (p_look.payload ->> 'run')::int and j.money || '' in ('checking', 'unknown');
  if not found then
    return;
  elsif p_money = 'unknown' then
    perform leasehold._alert('critical', 'MONEY_UNKNOWN', v_subject,
      'nobody could find out whether this job was charged: look into the ledger, and tell its owner',
      jsonb_strip_nulls(jsonb_build_object('reconcile', p_look.id, 'key', p_look.key, 'owner', p_look.payload -> 'owner',
        'error_code', p_look.last_error_code, 'error_message', p_look.last_error_message)), p_now);
  elsif p_money = 'charged' then
    perform leasehold._alert('warning', 'MONEY_CHARGED', v_subject,
      'this job ended without success after it was charged, and its settlement has no refund',
      jsonb_build_object('reconcile', p_look.id, 'key', p_look.key, 'owner', p_look.payload -> 'owner'), p_now);
  end if;
end
$$;

-- A reconcile job completes with {"ledger": "none" | "charged" | "refunded"}. None is believed only when
-- no attempt of the job can charge any more; a look that began before that is given back. Its subject is
-- locked.
create or replace function leasehold._complete_look(p_look leasehold.jobs, p_result jsonb, p_now timestamptz)
returns text language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_look leasehold.jobs := p_look;
  v_ledger constant text := p_result ->> 'ledger';
  v_open_ms bigint;
begin
  if v_ledger is null or v_ledger not in ('none', 'charged', 'refunded') then
    perform leasehold._refuse('the result of a reconcile job', p_result::text,
      '{"ledger": "none", "charged" or "refunded"}');
  end if;
  -- What it read before the timeout says nothing of a charge that came since, however late it is recorded.
  select greatest(ceil(extract(epoch from j.timeout_at - p_now) * 1000), 0) into v_open_ms from leasehold.jobs j
  where j.id = leasehold._subject(p_look) and j.timeout_at > p_look.claimed_at;
  if v_ledger = 'none' and v_open_ms is not null then
    return leasehold._release(p_look, v_open_ms, 'LEDGER_OPEN', p_now);
  end if;
  perform leasehold._settle(p_look, case v_ledger when 'none' then 'not_charged' else v_ledger end, p_now);
  v_look.result := p_result;
  return leasehold._move(v_look, 'completed', null, p_now);
end
$$;
