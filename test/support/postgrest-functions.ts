import type pg from "pg";
import { quoteIdentifier } from "../../src/database.ts";
import { type Answered, answered } from "./postgrest-errors.ts";
import type { Claims } from "./postgrest-keys.ts";

/** What is to be called. */
export interface Asked {
  readonly schema: string;
  readonly name: string;
  /** The names of the arguments. */
  readonly given: readonly string[];
  /** The body of the request: an object with their values. */
  readonly json: string;
}

/** One function of the catalogue. */
export interface Found {
  /** Names and types of all parameters, in order. */
  readonly parameters: readonly { readonly name: string; readonly type: string }[];
  /** How many of them have no default. */
  readonly required: number;
  /** It is stable or immutable, and so called in a transaction that may not write. */
  readonly reads: boolean;
  readonly returns: "nothing" | "value" | "row" | "values" | "rows";
}

const catalogue = `
  select
    array(
      select jsonb_build_object('name', a.name, 'type', format_type(p.proargtypes[a.i - 1], null))
      from unnest(p.proargnames) with ordinality a(name, i)
      where a.i <= p.pronargs and (p.proargmodes is null or p.proargmodes[a.i] in ('i', 'v'))
      order by a.i) as parameters,
    p.pronargs - p.pronargdefaults as required,
    p.provolatile <> 'v' as reads,
    case
      when p.prorettype = 'void'::regtype then 'nothing'
      when t.typtype = 'c' or t.typname = 'record' then case when p.proretset then 'rows' else 'row' end
      else case when p.proretset then 'values' else 'value' end
    end as returns
  from pg_proc p
  join pg_type t on t.oid = p.prorettype
  join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = $1 and p.proname = $2 and p.prokind = 'f' and p.pronargs = cardinality(p.proargtypes)`;

/** The one function of that name that takes just these arguments, or PostgREST's word that there is none. */
export async function findFunction(pool: pg.Pool, asked: Asked): Promise<Found | Answered> {
  const { rows } = await pool.query(catalogue, [asked.schema, asked.name]);
  const { given } = asked;
  const fitting = (rows as Found[]).filter(({ parameters, required }) => {
    const names = parameters.map(({ name }) => name);
    return (
      given.every((name) => names.includes(name)) &&
      names.slice(0, required).every((name) => given.includes(name))
    );
  });
  const [found] = fitting;
  if (found === undefined) return unknown(asked);
  return fitting.length > 1 ? ambiguous(asked, fitting) : found;
}

function unknown({ schema, name, given }: Asked): Answered {
  const list = given.toSorted().join(", ");
  const message = given.length === 0 ? " without parameters" : `(${list})`;
  const details = given.length === 0 ? message : ` with parameter${given[1] ? "s" : ""} ${list}`;
  return answered(
    404,
    "PGRST202",
    `Could not find the function ${schema}.${name}${message} in the schema cache`,
    {
      details:
        `Searched for the function ${schema}.${name}${details} or with a single unnamed json/jsonb ` +
        "parameter, but no matches were found in the schema cache.",
    },
  );
}

function ambiguous({ schema, name }: Asked, fitting: readonly Found[]): Answered {
  const candidates = fitting.map(({ parameters }) => {
    return `${schema}.${name}(${parameters.map((each) => `${each.name} => ${each.type}`).join(", ")})`;
  });
  return answered(
    300,
    "PGRST203",
    `Could not choose the best candidate function between: ${candidates.join(", ")}`,
    {
      hint:
        "Try renaming the parameters or the function itself in the database so function " +
        "overloading can be resolved",
    },
  );
}

/**
 * The statement that calls it with the JSON of `$1`, of which PostgreSQL makes a record of the
 * parameters' types. One row: `body`, the JSON of the answer, cut at `maxRows`, and how many rows
 * there were before.
 */
function callStatement({ schema, name, given, json }: Asked, found: Found, maxRows: number) {
  const used = found.parameters.filter((parameter) => given.includes(parameter.name));
  const quoted = (text: string): string => quoteIdentifier(text);
  const record = used.map((each) => `${quoted(each.name)} ${each.type}`).join(", ");
  const named = used.map((each) => `${quoted(each.name)} => given.${quoted(each.name)}`).join(", ");
  const call = `${quoted(schema)}.${quoted(name)}(${named})`;
  const from =
    used.length === 0 ? "(select) as given" : `json_to_record($1::json) as given(${record})`;
  const isValue = !found.returns.startsWith("row");
  const source = isValue ? `(select ${call} as value)` : call;
  const many = `coalesce(json_agg(${isValue ? "answer.value" : "answer"}), '[]')`;
  const body = found.returns.endsWith("s") ? many : `coalesce(${many} -> 0, 'null')`;
  return {
    text: `with source as materialized (select answer.* from ${from}, lateral ${source} answer)
      select ${body}::text as body, (select count(*) from source)::int as total
      from (select * from source limit ${maxRows}) answer`,
    values: used.length === 0 ? [] : [json],
  };
}

/** One call in a transaction of its own, under the role of its bearer. */
export async function callFunction(
  pool: pg.Pool,
  claims: Claims,
  asked: Asked,
  found: Found,
  maxRows: number,
): Promise<{ body: string; total: number }> {
  const client = await pool.connect();
  client.on("error", () => undefined); // told by the statement under way
  let broken = false;
  try {
    await client.query(`begin ${found.reads ? "read only" : "read write"}`);
    await client.query(
      `select set_config('search_path', $1, true), set_config('role', $2, true),
         set_config('request.jwt.claims', $3, true)`,
      [`${quoteIdentifier(asked.schema)}, public`, claims.role, JSON.stringify(claims)],
    );
    const { rows } = await client.query(callStatement(asked, found, maxRows));
    await client.query("commit");
    return rows[0];
  } catch (error) {
    await client.query("rollback").catch(() => {
      broken = true;
    });
    throw error;
  } finally {
    client.removeAllListeners("error");
    client.release(broken);
  }
}
