/**
 * Stand-ins for what is Supabase's alone, of the same shape: pg_net keeps a request in a table and sends
 * it after the commit, Vault shows secrets in a view, pg_cron replaces a job of the same name.
 */
export const standIns = `
  create schema net;
  create table net.http_request_queue (id bigint generated always as identity, method text, url text,
    headers jsonb, body jsonb, timeout_milliseconds int);
  create function net.http_post(url text, body jsonb default '{}', params jsonb default '{}',
    headers jsonb default '{"Content-Type": "application/json"}', timeout_milliseconds int default 5000)
  returns bigint language plpgsql strict as $$
  declare v_id bigint;
  begin
    insert into net.http_request_queue (method, url, headers, body, timeout_milliseconds)
    values ('POST', url || (select coalesce('?' || string_agg(key || '=' || value, '&'), '')
      from jsonb_each_text(params)), headers, body, timeout_milliseconds) returning id into v_id;
    return v_id;
  end $$;
  create schema vault;
  create table vault.secrets (name text, decrypted_secret text);
  create view vault.decrypted_secrets as select * from vault.secrets;
  create schema cron;
  create table cron.job (jobid bigint generated always as identity, jobname text unique, schedule text, command text);
  create table cron.job_run_details (jobid bigint, runid bigint, end_time timestamptz);
  create function cron.schedule(job_name text, schedule text, command text) returns bigint language sql as $$
    insert into cron.job (jobname, schedule, command) values ($1, $2, $3)
    on conflict (jobname) do update set schedule = excluded.schedule, command = excluded.command
    returning jobid
  $$;
`;

/** Takes them away, and the wake-ups with them. */
export const noStandIns = "drop schema if exists net, vault, cron, leasehold_wakeups cascade";
