-- Options in JSON: known names only (LH003), each value checked and read (LH002).

create or replace function leasehold._refuse_option(p_option text, p_known text[])
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'LH003',
    message = format('option %s is not known', quote_ident(p_option)),
    hint = format('Known here: %s.', array_to_string(p_known, ', '));
end
$$;

-- The first argument that a function takes as options must be an object with known names only.
create or replace function leasehold._check_options(p_name text, p_options jsonb, p_known text[])
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_option text;
begin
  if jsonb_typeof(p_options) is distinct from 'object' then
    perform leasehold._refuse(p_name, p_options::text, 'a JSON object');
  end if;
  select o into v_option from jsonb_object_keys(p_options - p_known) o limit 1;
  if found then
    perform leasehold._refuse_option(v_option, p_known);
  end if;
end
$$;

-- A required whole number within bounds.
create or replace function leasehold._json_int(p_name text, p_value jsonb, p_min bigint, p_max bigint)
returns bigint language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if jsonb_typeof(p_value) is distinct from 'number'
    or p_value::numeric <> trunc(p_value::numeric)
    or p_value::numeric not between p_min and p_max
  then
    perform leasehold._refuse(p_name, p_value::text, format('a whole number from %s to %s', p_min, p_max));
  end if;
  return p_value::numeric::bigint;
end
$$;

-- A name as _check_text accepts it; null where there is none.
create or replace function leasehold._json_text(p_name text, p_value jsonb)
returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_value is null or jsonb_typeof(p_value) = 'null' then
    return null;
  elsif jsonb_typeof(p_value) <> 'string' then
    perform leasehold._refuse(p_name, p_value::text, 'text');
  end if;
  perform leasehold._check_text(p_name, p_value #>> '{}', 500);
  return p_value #>> '{}';
end
$$;

-- A moment in JSON: ISO 8601 with a zone, since the session's zone is nobody's intention.
create or replace function leasehold._json_time(p_name text, p_value jsonb)
returns timestamptz language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_accepted constant text := 'a time in ISO 8601 with a zone, such as "2030-01-31T12:00:00Z"';
begin
  if jsonb_typeof(p_value) <> 'string'
    or p_value #>> '{}' !~ '^[0-9]{4}(-[0-9]{2}){2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)$'
  then
    perform leasehold._refuse(p_name, p_value::text, v_accepted);
  end if;
  return (p_value #>> '{}')::timestamptz;
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
  perform leasehold._refuse(p_name, p_value::text, v_accepted);
end
$$;

-- An array of uuids in JSON; a null in it stays null.
create or replace function leasehold._json_uuids(p_name text, p_value jsonb)
returns uuid[] language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if p_value is null or p_value = '[null]' then
    return null;
  elsif jsonb_typeof(p_value) <> 'array' or jsonb_array_length(p_value) > 10000 then
    perform leasehold._refuse(p_name, p_value::text, 'an array of at most 10000 job ids');
  end if;
  return array(select u::uuid from jsonb_array_elements_text(p_value) u);
exception when invalid_text_representation then
  perform leasehold._refuse(p_name, p_value::text, 'job ids, each a uuid');
end
$$;

create or replace function leasehold._json_kinds(p_value jsonb)
returns text[] language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if jsonb_typeof(p_value) is distinct from 'array' then
    perform leasehold._refuse('kinds', p_value::text, 'an array of kinds');
  end if;
  return leasehold._check_kinds(array(select jsonb_array_elements_text(p_value)));
end
$$;

-- A trace context: headers by name, as W3C's traceparent and tracestate. Null where there is none.
create or replace function leasehold._json_trace_context(p_name text, p_value jsonb)
returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_value is null or jsonb_typeof(p_value) = 'null' then
    return null;
  elsif not leasehold._is_trace_context(p_value) then
    perform leasehold._refuse(p_name, p_value::text,
      'an object of texts, at most 8192 bytes, such as {"traceparent": "00-…"}');
  end if;
  return p_value;
end
$$;

create or replace function leasehold._is_trace_context(p_value jsonb)
returns boolean language sql immutable set search_path = pg_catalog, pg_temp as $$
  select jsonb_typeof(p_value) = 'object' and octet_length(p_value::text) <= 8192
    and not jsonb_path_exists(p_value, '$.* ? (@.type() != "string")')
$$;

-- True or false; false where there is none.
create or replace function leasehold._json_boolean(p_name text, p_value jsonb)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_value is not null and jsonb_typeof(p_value) <> 'boolean' then
    perform leasehold._refuse(p_name, p_value::text, 'true or false');
  end if;
  return coalesce(p_value = 'true', false);
end
$$;

create or replace function leasehold._json_statuses(p_name text, p_value jsonb, p_allowed text[])
returns text[] language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  v_list constant jsonb := case when jsonb_typeof(p_value) = 'array' then p_value else jsonb_build_array(p_value) end;
begin
  if v_list = '[]' or not to_jsonb(p_allowed) @> v_list then
    perform leasehold._refuse(p_name, p_value::text, 'one or more of ' || array_to_string(p_allowed, ', '));
  end if;
  return array(select jsonb_array_elements_text(v_list));
end
$$;

-- A kind's backoff list; null where it takes the library's default.
create or replace function leasehold._json_backoff(p_value jsonb)
returns int[] language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_value is null then
    return null;
  elsif jsonb_typeof(p_value) <> 'array' or jsonb_array_length(p_value) not between 1 and 100 then
    perform leasehold._refuse('backoff_ms', p_value::text, 'an array of 1 to 100 delays in milliseconds');
  end if;
  return array(select leasehold._json_int('backoff_ms', d, 0, 2147483647) from jsonb_array_elements(p_value) d);
end
$$;
