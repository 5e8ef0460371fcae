import { quoteLiteral } from "../../../src/schema/schema-name.ts";
import type { Queryable, Session, TestDatabase } from "../../support/databases.ts";

/** The rows of all tables at the beginning of a case, and the clock at that moment. */
export interface Snapshot {
  at: string;
  tables: Record<string, unknown[]>;
}

interface Column {
  name: string;
  time: boolean;
  identity: boolean;
  key: boolean;
}

/** How a row is called, alike for one that is there and for one that is about to be added. */
const labels: Record<string, string> = {
  jobs: "t.kind || ' ' || coalesce(t.key, t.id::text)",
  holds: "t.job_id || ' ' || t.run",
};
const appendOnly = ["job_events", "entries"];

type Tables = Record<string, Column[]>;

/** Adds the schema `pairs` to a test database, with what cases are begun and judged by. */
export async function openArena(db: TestDatabase): Promise<void> {
  const tables = await columnsOf(db);
  await db.query(
    ["create schema pairs", restoring(tables), telling(tables), probing(tables), pretending].join(
      ";\n",
    ),
  );
}

/** `restore(world)` makes the tables what they were when the world was kept, all times as far away as then. */
function restoring(tables: Tables): string {
  const kept = Object.keys(tables).map(
    (name) =>
      `create table pairs.${name} as
       select ''::text as world, clock_timestamp() as kept_at, t.* from leasehold.${name} t limit 0;`,
  );
  const restored = Object.entries(tables).map(([name, columns]) => {
    const values = columns.map((c) =>
      c.time ? `s.${c.name} + (v_now - s.kept_at)` : `s.${c.name}`,
    );
    return `delete from leasehold.${name};
      insert into leasehold.${name} (${columns.map((c) => c.name)}) overriding system value
      select ${values} from pairs.${name} s where s.world = p_world;`;
  });
  return `${kept.join("\n")}
    create function pairs.restore(p_world text) returns void language plpgsql as $$
    declare v_now timestamptz := clock_timestamp(); begin ${restored.join("\n")} end $$`;
}

/** `final()` tells what is in the tables, times in minutes from now; `books()` what is wrong in them. */
function telling(tables: Tables): string {
  const told = Object.entries(tables).map(
    ([name, columns]) => `'${name}', (${tellTable(name, columns)})`,
  );
  return `
    create function pairs.minutes(p_at timestamptz, p_now timestamptz) returns text language sql as $$
      select case when isfinite(p_at) then round(extract(epoch from p_at - p_now) / 60)::text else p_at::text end $$;
    create function pairs.final() returns jsonb language plpgsql as $$
    declare v_now timestamptz := clock_timestamp(); begin return jsonb_build_object(${told}); end $$;
    create function pairs.books() returns jsonb language sql as $$
      select v from leasehold.verify() v where v -> 'ok' <> 'true' $$`;
}

/** `seen()` names all rows, `taken()` those that others have locked; `hold(row)` locks one of them. */
function probing(tables: Tables): string {
  const names = Object.keys(tables).filter((name) => !appendOnly.includes(name));
  const seen = names.map((name) => `select ${label(name, tables)} from leasehold.${name} t`);
  const taken = names.map(
    (name) => `
      v_open := array(select t.ctid from leasehold.${name} t for key share skip locked);
      v_free := array(select t.ctid from leasehold.${name} t for no key update skip locked);
      v_taken := v_taken || array(
        select ${label(name, tables)} || case when t.ctid = any (v_open) then '' else ' for update' end
        from leasehold.${name} t where not t.ctid = any (v_free));`,
  );
  const held = names.map(
    (name) => `perform from leasehold.${name} t where ${label(name, tables)} = p_row for update;`,
  );
  return `
    create function pairs.hold(p_row text) returns void language plpgsql as $$
    begin ${held.join("\n")} end $$;
    create function pairs.seen() returns text[] language plpgsql as $$
    begin return array(${seen.join(" union all ")}); end $$;
    create function pairs.taken() returns text[] language plpgsql as $$
    declare v_taken text[] := '{}'; v_free tid[]; v_open tid[];
    begin ${taken.join("")} return v_taken; end $$`;
}

/**
 * `unexpired(call)` makes a call to which no job is one to reap, `spared(rows, call)` one to which
 * these rows are too young to be deleted: what a deviation does instead.
 */
const pretending = `
  create function pairs.unexpired(p_sql text) returns jsonb language plpgsql as $$
  declare v_answer jsonb; begin
    update leasehold.jobs set lease_until = lease_until + interval '1 day' where lease_until <= clock_timestamp();
    update leasehold.jobs set start_by = start_by + interval '1 day' where start_by <= clock_timestamp();
    execute 'select to_jsonb(a.answer) from (' || p_sql || ') a' into v_answer;
    update leasehold.jobs set lease_until = lease_until - interval '1 day'
    where lease_until > clock_timestamp() + interval '12 hours';
    update leasehold.jobs set start_by = start_by - interval '1 day'
    where start_by > clock_timestamp() + interval '12 hours';
    return v_answer;
  end $$;
  create function pairs.spared(p_rows text, p_sql text) returns jsonb language plpgsql as $$
  declare v_answer jsonb; begin
    perform pairs.postpone(p_rows, interval '1000 days');
    execute 'select to_jsonb(a.answer) from (' || p_sql || ') a' into v_answer;
    perform pairs.postpone(p_rows, interval '-1000 days');
    return v_answer;
  end $$;
  create function pairs.postpone(p_rows text, p_by interval) returns void language plpgsql as $$ begin
    update leasehold.once set expires_at = expires_at + p_by where p_rows ~ 'once';
    update leasehold.cache set expires_at = expires_at + p_by where p_rows ~ 'cache';
    update leasehold.jobs set finished_at = finished_at + p_by where p_rows ~ id::text;
  end $$`;

/** Once all worlds are kept: what a case adds must not get the numbers of what a world brings. */
export async function beginCases(db: TestDatabase): Promise<void> {
  for (const [name, columns] of Object.entries(await columnsOf(db))) {
    if (!columns.some((c) => c.identity)) continue;
    await db.query(`alter table leasehold.${name} alter column id restart with 1000000`);
  }
}

async function columnsOf(db: Queryable): Promise<Tables> {
  const rows = await db.query(`
    select c.relname as "table", a.attname as name, a.atttypid = 'timestamptz'::regtype as time,
      a.attidentity <> '' as identity, coalesce(a.attnum = any (i.indkey), false) as key
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_index i on i.indrelid = c.oid and i.indisprimary
    where c.relnamespace = 'leasehold'::regnamespace and c.relkind = 'r' and c.relname <> 'migrations'
    order by 1, a.attnum`);
  const tables: Tables = {};
  for (const { table, ...column } of rows) {
    tables[table] = [...(tables[table] ?? []), column as Column];
  }
  return tables;
}

/** The query for what is in a table: without numbers that PostgreSQL gave. */
function tellTable(name: string, columns: Column[]): string {
  const times = columns
    .filter((c) => c.time)
    .map((c) => `'${c.name}', pairs.minutes(t.${c.name}, v_now)`);
  const hold =
    name === "entries"
      ? ["'hold'", "(select h.job_id || ' ' || h.run from leasehold.holds h where h.id = t.hold)"]
      : [];
  const numbers = columns
    .filter((c) => c.identity)
    .map((c) => ` - '${c.name}'`)
    .join("");
  return `select coalesce(jsonb_agg((to_jsonb(t)${numbers}) || jsonb_build_object(${[...times, ...hold]})), '[]') from leasehold.${name} t`;
}

function label(name: string, tables: Tables): string {
  const key = (tables[name] ?? []).filter((c) => c.key).map((c) => `t.${c.name}`);
  return `'${name} ' || ${labels[name] ?? key.join(" || ' ' || ")}`;
}

/** What the tables hold now; `names` stand for the ids that the library has given. */
export async function takeSnapshot(
  db: TestDatabase,
  names: Map<string, string>,
): Promise<Snapshot> {
  const tables = Object.keys(await columnsOf(db));
  const rows = tables.map(
    (name) => `'${name}', (select coalesce(jsonb_agg(to_jsonb(t)), '[]') from leasehold.${name} t)`,
  );
  let text: string = await db.value(
    `select jsonb_build_object('at', clock_timestamp(), 'tables', jsonb_build_object(${rows}))::text`,
  );
  for (const [id, name] of names) text = text.replaceAll(id, name);
  return JSON.parse(text);
}

/** Makes a world known to an arena under this name. */
export async function keepWorld(
  db: Queryable,
  name: string,
  { at, tables }: Snapshot,
): Promise<void> {
  const inserts = Object.entries(tables)
    .filter(([, rows]) => rows.length > 0)
    .map(
      ([table, rows]) =>
        `insert into pairs.${table} select ${quoteLiteral(name)}, ${quoteLiteral(at)}, t.*
       from jsonb_populate_recordset(null::leasehold.${table}, ${quoteLiteral(JSON.stringify(rows))}) t`,
    );
  await db.query(inserts.join(";\n"));
}

/** A database with two connections that race in it. */
export interface Arena {
  db: TestDatabase;
  first: Session;
  second: Session;
}
