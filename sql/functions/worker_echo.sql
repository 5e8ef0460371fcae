-- worker_echo(token): notifies "echo <token>" on the channel named as the schema. A worker calls it on
-- another connection than the one that listens, to find out whether notifications arrive there:
-- through a transaction pooler LISTEN succeeds and nothing ever comes.
-- Errors: LH002 for a token that is blank or over 500 bytes.
create or replace function leasehold.worker_echo(p_token text)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform leasehold._check_text('p_token', p_token, 500);
  perform pg_notify('{{schema}}', 'echo ' || p_token);
end
$$;
