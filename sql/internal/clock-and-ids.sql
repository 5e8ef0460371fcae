-- Moments as text, and ids that sort by creation.
--
-- What the public functions share stands in this folder. Every name begins with an underscore and is
-- granted to nobody: these run only inside a function that runs as the schema's owner.
--
-- Every function pins its search_path to pg_catalog, with pg_temp last: an empty path would still
-- search the caller's temporary schema first for type names, and a domain called `text` would run
-- the caller's code with the owner's rights.

-- ISO 8601 in UTC with microseconds, whatever the session's zone.
create or replace function leasehold._iso(p_at timestamptz)
returns text language sql stable set search_path = pg_catalog, pg_temp as $$
  select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

-- UUID version 7 (RFC 9562): 48 bits of milliseconds, 12 bits of their fraction, 62 random bits.
-- The fraction makes ids of one millisecond sort in the order of their microseconds.
create or replace function leasehold._uuid7(p_at timestamptz)
returns uuid language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  v_us constant bigint := (extract(epoch from p_at) * 1000000)::bigint;
begin
  return encode(
    int8send((v_us / 1000 << 16) | 28672 | (v_us % 1000 * 4096 / 1000)) || substring(uuid_send(gen_random_uuid()) from 9),
    'hex')::uuid;
end
$$;

-- As many of them, one microsecond apart, in rising order.
create or replace function leasehold._uuid7_many(p_at timestamptz, p_count int)
returns uuid[] language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  v_us constant bigint := (extract(epoch from p_at) * 1000000)::bigint;
begin
  return array(
    select encode(
      int8send((us / 1000 << 16) | 28672 | (us % 1000 * 4096 / 1000)) || substring(uuid_send(gen_random_uuid()) from 9),
      'hex')::uuid
    from generate_series(v_us + 1, v_us + p_count) us order by us);
end
$$;
