import { quoteLiteral } from "./schema-name.ts";

/** How pg_type names what SQL text calls otherwise. */
const typeNames: Readonly<Record<string, string>> = {
  int: "int4",
  integer: "int4",
  smallint: "int2",
  bigint: "int8",
  boolean: "bool",
};

const functionHead =
  /create or replace function leasehold\.(\w+)\s*\(([\s\S]*?)\)\s*returns\s+(?:table\s*\(([^)]*)\)|(setof\s+)?(\S+))/g;

/**
 * The signatures of all functions that SQL text defines, as PostgreSQL's catalog gives them:
 * `name(p_a text,p_b int4) jsonb`. Where a type is written in a way that is not known here, the
 * signature differs from the installed one and the function is made anew, which is right as well.
 */
export function signaturesOf(sql: string): string[] {
  return [...sql.matchAll(functionHead)].map((match) => {
    const [, name, inputs = "", columns, set, type = ""] = match;
    const answer = columns === undefined ? `${set ? "setof " : ""}${typeName(type)}` : "table";
    return `${name}(${[...fields(inputs), ...fields(columns ?? "")].join(",")}) ${answer}`;
  });
}

/** `p_a text, p_b leasehold.jobs default null` as `p_a text`, `p_b jobs`. */
function fields(list: string): string[] {
  const field = /(?:^|,)\s*(\w+)\s+([\w.]+(?:\[\])?)/g;
  return [...list.matchAll(field)].map(([, name, type = ""]) => `${name} ${typeName(type)}`);
}

function typeName(type: string): string {
  const [, name = "", array] = /^(?:leasehold\.)?(\w+)(\[\])?/.exec(type) ?? [];
  return `${array ? "_" : ""}${typeNames[name] ?? name}`;
}

/** An SQL expression over `pg_proc p`: the signature of an installed function. */
const installedSignature = `format('%s(%s) %s', p.proname,
      (select string_agg(concat_ws(' ', p.proargnames[a.i], t.typname), ',' order by a.i)
        from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality a (type, i)
        join pg_catalog.pg_type t on t.oid = a.type),
      case when p.proallargtypes is not null then 'table' else
        case when p.proretset then 'setof ' else '' end
          || (select t.typname from pg_catalog.pg_type t where t.oid = p.prorettype) end)`;

/**
 * SQL that drops what is gone from `sql` (all functions of today), or can't be replaced since its
 * arguments or its answer changed: a bare replace would fail, or leave an overload that makes old
 * calls ambiguous. All others stay and are replaced in place, so that calls that run meanwhile find
 * what they call. What belongs to an extension stays too.
 */
export function dropChangedFunctions(sql: string): string {
  return `do $$
declare
  v_function regprocedure;
begin
  for v_function in
    select p.oid from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname = '{{schema}}' and not ${installedSignature} = any (array[
${signaturesOf(sql)
  .map((signature) => `      ${quoteLiteral(signature)}`)
  .join(",\n")}]::text[])
      and not exists (select from pg_catalog.pg_depend d
        where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  loop
    execute format('drop routine %s', v_function);
  end loop;
end
$$;
`;
}
