-- leasehold: wake-ups from the database, for Supabase: pg_cron and pg_net call the route that drains.
-- Run it in one transaction, after leasehold's schema. It may be run again at any time.
--
-- The route and its secret are read from Vault at each call. Until both are there, nothing is called.
-- Store them once, in the SQL editor and not in a migration:
--   select vault.create_secret('https://example.com/api/leasehold/drain', '{{schema}}_drain_url');
--   select vault.create_secret('the value of CRON_SECRET', '{{schema}}_drain_secret');
--
-- A wake-up that is missing, doubled or late does no harm: a drain takes what is due, whoever calls it.
-- To take it all away: cron.unschedule each of the two jobs, and drop this schema with cascade.

-- The extensions, where they can be had. Elsewhere all below stays quiet.
do $$
declare
  v_name text;
begin
  for v_name in
    select e.name from pg_catalog.pg_available_extensions e
    where e.name in ('pg_cron', 'pg_net', 'supabase_vault') and e.installed_version is null
  loop
    begin
      if v_name = 'pg_net' and to_regnamespace('extensions') is not null then
        create extension pg_net with schema extensions;
      else
        execute format('create extension %I', v_name);
      end if;
    exception when others then
      raise notice 'leasehold: the extension % could not be installed: %', v_name, sqlerrm;
    end;
  end loop;
  if to_regnamespace(format('%I', '{{schema}}_wakeups')) is null then
    create schema leasehold_wakeups;
  end if;
end
$$;

-- call(linger) → bigint: asks pg_net to POST to the route that drains, and answers the number of the
-- request; null where pg_net, Vault or one of the two secrets is missing. It is sent after the commit.
-- The time that pg_net waits is longer than a function may take.
create or replace function leasehold_wakeups.call(p_linger text = '0s')
returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_url text;
  v_secret text;
begin
  if to_regnamespace('net') is null or to_regclass('vault.decrypted_secrets') is null then
    return null;
  end if;
  select max(s.decrypted_secret) filter (where s.name = '{{schema}}_drain_url'),
    max(s.decrypted_secret) filter (where s.name = '{{schema}}_drain_secret')
  into v_url, v_secret
  from vault.decrypted_secrets s where s.name in ('{{schema}}_drain_url', '{{schema}}_drain_secret');
  if v_url is null or v_secret is null then
    return null;
  end if;
  return net.http_post(
    url => v_url,
    body => '{}'::jsonb,
    params => jsonb_build_object('linger', p_linger),
    headers => jsonb_build_object('Authorization', 'Bearer ' || v_secret, 'Content-Type', 'application/json'),
    timeout_milliseconds => 310000 /* timeout */);
end
$$;

-- tick() → bigint: calls where something is due, of what kind ever; for pg_cron.
create or replace function leasehold_wakeups.tick()
returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if leasehold.has_due_work() then
    return leasehold_wakeups.call();
  end if;
  return null;
end
$$;

-- purge() → int: deletes what pg_cron has noted of the two jobs more than a week ago; it would keep it
-- for ever.
create or replace function leasehold_wakeups.purge()
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_deleted int;
begin
  delete from cron.job_run_details d using cron.job j
  where j.jobid = d.jobid and j.jobname in ('{{schema}}_drain', '{{schema}}_purge')
    and d.end_time < clock_timestamp() - interval '7 days';
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;

-- Calls when a job that is due was enqueued: at most once a second, as the drain lingers for so long.
-- Whatever goes wrong here is no matter of who enqueues, and nobody waits for anybody.
create or replace function leasehold_wakeups.on_enqueue()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_now constant timestamptz := clock_timestamp();
begin
  if not exists (select from enqueued j where j.status = 'queued' and j.run_after <= v_now) then
    return null;
  end if;
  -- Nearly always this look is enough: no subtransaction is begun for it.
  if exists (
    select from leasehold.ticks t
    where t.name = 'leasehold.wakeup' and t.last_at > v_now - interval '1 second')
  then
    return null;
  end if;
  begin
    if leasehold.every('leasehold.wakeup', 1000) then
      perform leasehold_wakeups.call('2s');
    end if;
  exception when others then
    -- Under repeatable read, 40001 says that another has called meanwhile.
    if sqlstate <> '40001' then
      raise warning 'leasehold: no wake-up was sent: %', sqlerrm;
    end if;
  end;
  return null;
end
$$;

-- The first use of a name may wait for another's: so it is there before it is used.
insert into leasehold.ticks (name, last_at) values ('leasehold.wakeup', 'epoch') on conflict do nothing;

create or replace trigger leasehold_wakeup after insert on leasehold.jobs
  referencing new table as enqueued for each statement execute function leasehold_wakeups.on_enqueue();

-- Nobody calls these but their owner, pg_cron as their owner, and the trigger.
revoke all on schema leasehold_wakeups from public;
revoke all on all routines in schema leasehold_wakeups from public;
do $$
declare
  v_role text;
begin
  foreach v_role in array array['anon', 'authenticated', 'service_role'] loop
    if to_regrole(v_role) is not null then
      execute format('revoke all on schema %I from %I', '{{schema}}_wakeups', v_role);
      execute format('revoke all on all routines in schema %I from %I', '{{schema}}_wakeups', v_role);
    end if;
  end loop;
end
$$;

-- A job of the same name is replaced.
do $$
begin
  if to_regnamespace('cron') is null then
    raise notice 'leasehold: pg_cron is not here, so the drain is not called by the clock';
    return;
  end if;
  perform cron.schedule('{{schema}}_drain', '* * * * *' /* schedule */, format('select %I.tick()', '{{schema}}_wakeups'));
  perform cron.schedule('{{schema}}_purge', '17 3 * * *', format('select %I.purge()', '{{schema}}_wakeups'));
end
$$;
