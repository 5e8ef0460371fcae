-- Arguments: each check names the argument, shows its value, and says what is accepted (LH002, LH004).

-- Refuses an argument: names it, shows its value, says what is accepted.
create or replace function leasehold._refuse(p_name text, p_value text, p_accepted text)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'LH002',
    message = format('%s is %s', p_name, case
      when p_value is null then 'null'
      when length(p_value) > 80 then left(p_value, 77) || '...'
      else p_value end),
    hint = format('Give %s.', p_accepted);
end
$$;

-- A required whole number within bounds.
create or replace function leasehold._check_int(p_name text, p_value bigint, p_min bigint, p_max bigint)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_value is null or p_value < p_min or p_value > p_max then
    perform leasehold._refuse(p_name, p_value::text, format('a whole number from %s to %s', p_min, p_max));
  end if;
end
$$;

-- A name that people and logs will read: not blank, no control characters, bounded.
create or replace function leasehold._check_text(p_name text, p_value text, p_max_bytes int)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_value is null or p_value !~ '[^[:space:]\u00a0\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]' or octet_length(p_value) > p_max_bytes
    or p_value ~ '[\u0001-\u001f\u007f-\u009f]'
  then
    perform leasehold._refuse(p_name, quote_literal(p_value), format(
      'text of 1 to %s bytes that is not blank and has no control characters', p_max_bytes));
  end if;
end
$$;

create or replace function leasehold._check_kind(p_kind text)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform leasehold._check_text('kind', p_kind, 100);
  if starts_with(p_kind, 'leasehold.') then
    perform leasehold._refuse('kind', quote_literal(p_kind),
      'a name that does not begin with "leasehold.", which is kept for the library''s own jobs');
  end if;
end
$$;

-- Kinds to claim or look at: each a text, at least one, answered without repetition.
create or replace function leasehold._check_kinds(p_kinds text[])
returns text[] language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_kinds is null or cardinality(p_kinds) = 0 or array_position(p_kinds, null) is not null then
    perform leasehold._refuse('p_kinds', p_kinds::text, 'the kinds to take, at least one and none of them null');
  end if;
  return array(select distinct k from unnest(p_kinds) k order by k);
end
$$;

-- At most 1 MB of JSON text, as PostgreSQL prints it.
create or replace function leasehold._check_size(p_name text, p_value jsonb)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if octet_length(p_value::text) > 1048576 then
    raise exception using errcode = 'LH004',
      message = format('%s has %s bytes, more than 1048576', p_name, octet_length(p_value::text)),
      hint = 'Store it elsewhere and pass a reference to it.';
  end if;
end
$$;

create or replace function leasehold._check_claim(p_lease_ms int, p_worker text, p_timeout_ms int)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_lease_ms is not null then
    perform leasehold._check_int('p_lease_ms', p_lease_ms, 1, 2147483647);
  end if;
  if p_timeout_ms is not null then
    perform leasehold._check_int('p_timeout_ms', p_timeout_ms, 1, 2147483647);
  end if;
  if p_worker is not null then
    perform leasehold._check_text('p_worker', p_worker, 500);
  end if;
end
$$;

-- The position of a last claim: {"<priority>": {"run_after", "id"}}.
create or replace function leasehold._check_after(p_after jsonb)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_accepted constant text := 'an object {"<priority>": {"run_after": time, "id": uuid}}';
  v_priority text;
  v_position jsonb;
begin
  if p_after is null then
    return;
  elsif jsonb_typeof(p_after) <> 'object' then
    perform leasehold._refuse('p_after', p_after::text, v_accepted);
  end if;
  for v_priority, v_position in select a.key, a.value from jsonb_each(p_after) a loop
    if v_priority !~ '^-?[0-9]{1,5}$' or jsonb_typeof(v_position) <> 'object'
      or v_position - array['run_after', 'id'] <> '{}' or jsonb_typeof(v_position -> 'id') is distinct from 'string'
    then
      perform leasehold._refuse('p_after', p_after::text, v_accepted);
    end if;
    perform leasehold._json_time('p_after.run_after', coalesce(v_position -> 'run_after', 'null'));
    perform leasehold._json_uuids('p_after.id', jsonb_build_array(v_position -> 'id'));
  end loop;
end
$$;

create or replace function leasehold._check_failure(p_error jsonb, p_retry_after_ms bigint)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if jsonb_typeof(p_error) is distinct from 'object' then
    perform leasehold._refuse('error', p_error::text, 'an object {code, message, details?}');
  end if;
  if p_retry_after_ms is not null then
    perform leasehold._check_int('retry_after_ms', p_retry_after_ms, 0, 2147483647);
  end if;
end
$$;

-- The argument of finish_many: checked as a whole, in one statement, before anything is written.
create or replace function leasehold._check_outcomes(p_outcomes jsonb)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_known constant text[] := array['id', 'generation', 'action', 'result', 'error', 'permanent', 'retry_after_ms', 'error_code'];
  v_uuid constant text := '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$';
  v_outcome jsonb;
begin
  if jsonb_typeof(p_outcomes) is distinct from 'array' then
    perform leasehold._refuse('p_outcomes', p_outcomes::text, 'an array of {id, generation, action}');
  end if;
  select o.value into v_outcome from jsonb_array_elements(p_outcomes) o
  where case when jsonb_typeof(o.value) <> 'object' then true else
    o.value - v_known <> '{}'
    or coalesce(o.value ->> 'id', '') !~ v_uuid
    or coalesce(o.value ->> 'generation', '') !~ '^[0-9]{1,9}$'
    or coalesce(o.value ->> 'action', '') not in ('complete', 'fail', 'release')
    or o.value ->> 'action' = 'fail' and coalesce(jsonb_typeof(o.value -> 'error'), '') <> 'object'
    or coalesce(jsonb_typeof(o.value -> 'permanent'), 'null') not in ('boolean', 'null')
    or case when coalesce(o.value ->> 'retry_after_ms', '0') !~ '^[0-9]{1,10}$' then true
      else (o.value ->> 'retry_after_ms')::bigint > 2147483647 end end
  limit 1;
  if found then
    if jsonb_typeof(v_outcome) = 'object' then
      perform leasehold._check_options('an outcome', v_outcome, v_known);
    end if;
    perform leasehold._refuse('an outcome', v_outcome::text, '{id: uuid, generation, action: "complete", "fail" (with an '
      || 'error {code, message}) or "release", and where wanted result, permanent, retry_after_ms, error_code}');
  end if;
  perform leasehold._check_once(array(select (o.value ->> 'id')::uuid from jsonb_array_elements(p_outcomes) o));
end
$$;

-- The outcomes of finish_and_claim: arrays of one length, and no job twice.
create or replace function leasehold._check_completed(
  p_completed uuid[], p_generations int[], p_results jsonb, p_outcomes jsonb)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_count constant int := cardinality(p_completed);
  v_ids uuid[] := p_completed;
begin
  if array_position(p_completed, null) is not null then
    perform leasehold._refuse('p_completed', p_completed::text, 'ids, none of them null');
  elsif cardinality(p_generations) <> v_count or array_position(p_generations, null) is not null then
    perform leasehold._refuse('p_generations', p_generations::text, format('an array of %s generations, one for each of p_completed', v_count));
  elsif p_results is not null and (jsonb_typeof(p_results) <> 'array' or jsonb_array_length(p_results) <> v_count) then
    perform leasehold._refuse('p_results', p_results::text, format('null, or an array of %s results, one for each of p_completed', v_count));
  end if;
  if p_outcomes <> '[]' then
    perform leasehold._check_outcomes(p_outcomes);
    v_ids := v_ids || array(select (o.value ->> 'id')::uuid from jsonb_array_elements(p_outcomes) o);
  end if;
  perform leasehold._check_once(v_ids);
end
$$;

-- No job twice among those that a call ends.
create or replace function leasehold._check_once(p_ids uuid[])
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_id uuid;
begin
  select i.id into v_id from unnest(p_ids) i (id) group by i.id having count(*) > 1 limit 1;
  if found then
    perform leasehold._refuse('id', v_id || ' twice', 'each job once');
  end if;
end
$$;

-- An array of at most 10,000 of what p_items says.
create or replace function leasehold._check_array(p_name text, p_value jsonb, p_items text)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if jsonb_typeof(p_value) is distinct from 'array' or jsonb_array_length(p_value) > 10000 then
    perform leasehold._refuse(p_name, case when jsonb_typeof(p_value) = 'array'
      then format('an array of %s', jsonb_array_length(p_value)) else p_value::text end, 'an array of at most 10000 ' || p_items);
  end if;
end
$$;

-- The claims of extend_many; the first bad one is shown.
create or replace function leasehold._check_claims(p_claims jsonb)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_known constant text[] := array['id', 'generation', 'lease_ms'];
  v_uuid constant text := '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$';
  v_claim jsonb;
begin
  perform leasehold._check_array('p_claims', p_claims, '{id, generation}');
  select c.value into v_claim from jsonb_array_elements(p_claims) c
  where case when jsonb_typeof(c.value) <> 'object' then true else
    c.value - v_known <> '{}'
    or coalesce(c.value ->> 'id', '') !~ v_uuid
    or coalesce(c.value ->> 'generation', '') !~ '^[0-9]{1,9}$'
    or case when coalesce(c.value ->> 'lease_ms', '1') !~ '^[0-9]{1,10}$' then true
      else (c.value ->> 'lease_ms')::bigint not between 1 and 2147483647 end end
  limit 1;
  if found then
    if jsonb_typeof(v_claim) = 'object' then
      perform leasehold._check_options('a claim', v_claim, v_known);
    end if;
    perform leasehold._refuse('a claim', v_claim::text, '{id: uuid, generation, and where wanted lease_ms from 1 to 2147483647}');
  end if;
end
$$;
