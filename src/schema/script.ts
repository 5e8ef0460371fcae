import { invalidArgument } from "../errors.ts";
import {
  applySchemaName,
  checkSchemaName,
  freeTag,
  isIdentifier,
  quoteLiteral,
} from "./schema-name.ts";
import { dropChangedFunctions } from "./signatures.ts";

/** What scripts/embed-sql.mjs makes of the folder `sql/`. */
export interface SqlParts {
  readonly tables: string;
  readonly indexes: string;
  readonly internal: string;
  /** The public functions by name. */
  readonly functions: Readonly<Record<string, string>>;
  readonly grants: string;
  /** The function my_job, for who asks for it. */
  readonly myJob?: string;
  /** In order, from version 2. */
  readonly migrations: readonly Migration[];
  readonly checksum: string;
}

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

export interface RenderOptions {
  /** The schema to install into, "leasehold" by default. It must be leasehold's own. */
  schema?: string;
  /** Roles that may call the functions, beside those granted before and `service_role`. */
  roles?: readonly string[];
  /**
   * For Supabase: whether signed-in users may call `my_job(id)`, the status of their own jobs, owned by
   * `auth.uid()`. Left out, it stays as it is; false takes the function away.
   */
  myJob?: boolean;
}

/** `renderSql` for any parts: tests render versions that do not exist yet. */
export function renderParts(
  parts: SqlParts,
  { schema = "leasehold", roles = [], myJob }: RenderOptions,
): string {
  checkSchemaName(schema);
  for (const role of roles) checkRole(role);
  if (myJob !== undefined && typeof myJob !== "boolean") {
    throw invalidArgument("myJob", myJob, "true, false, or nothing to leave it as it is");
  }
  const optional = myJob === false ? "" : (parts.myJob ?? "");
  const version = parts.migrations.at(-1)?.version ?? 1;
  const functions = [parts.internal, ...Object.values(parts.functions)].join("\n");
  // All names that end up inside dollar quotes decide together how these are written.
  const names = [schema, ...roles];
  const apply = (sql: string): string => applySchemaName(sql, schema, names);
  const [beforeRoles = "", afterRoles = ""] = parts.grants.split("array[]::text[] /* roles */");
  return [
    headSql(version),
    apply(lockSql),
    apply(guardSql(version)),
    apply(migrationsTableSql),
    apply(upgradeSql(parts, names)),
    apply(dropChangedFunctions(functions + optional)),
    "-- The functions call each other in any order, so their bodies are not looked into yet.",
    "set local check_function_bodies = off;",
    apply(functions),
    "set local check_function_bodies to default;",
    apply(myJobSql(optional, myJob === true, names)),
    `${apply(beforeRoles)}array[${roles.map(quoteLiteral).join(", ")}]::text[]${apply(afterRoles)}`,
    apply(recordSql(version, parts.checksum)),
    reloadSql,
  ].join("\n");
}

/** GRANT … TO "public" means everyone, quoted or not. */
function checkRole(role: unknown): void {
  if (!isIdentifier(role) || role === "public" || role === "none") {
    throw invalidArgument("roles", role, "the name of a role, such as 'service_role'");
  }
}

const headSql = (
  version: number,
): string => `-- leasehold, schema version ${version}: installs the schema, or brings an older one up to date.
-- Run it in one transaction, for example with psql -1 -f. It may be run again at any time.
-- The schema belongs to leasehold: a function in it that is not leasehold's own is dropped.
`;

/** Under repeatable read, who waited for the lock would not see what the one before had done. */
const lockSql = `set transaction isolation level read committed;
select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('leasehold.migrate:{{schema}}', 0));
`;

/** Stops before anything is changed. */
const guardSql = (version: number): string => `do $$
declare
  v_version int;
begin
  if to_regclass(format('%I.migrations', '{{schema}}')) is not null then
    select max(m.version) into v_version from leasehold.migrations m;
    if v_version > ${version} then
      raise exception using errcode = 'LH006',
        message = format('schema %I is at version %s, newer than version ${version} of this leasehold', '{{schema}}', v_version),
        hint = 'Upgrade the leasehold package to the one that migrated this database.';
    end if;
  elsif exists (
    select from pg_catalog.pg_namespace n where n.nspname = '{{schema}}' and (
      exists (select from pg_catalog.pg_class c where c.relnamespace = n.oid)
      or exists (select from pg_catalog.pg_proc p where p.pronamespace = n.oid)))
  then
    raise exception using errcode = 'LH002',
      message = format('schema %I already holds something else', '{{schema}}'),
      hint = 'Choose a schema of leasehold''s own.';
  end if;
end
$$;
`;

/** A schema that an administrator made is taken as it is: even IF NOT EXISTS asks for the right. */
const migrationsTableSql = `do $$
begin
  if not exists (select from pg_catalog.pg_namespace n where n.nspname = '{{schema}}') then
    create schema leasehold;
  end if;
end
$$;
create table if not exists leasehold.migrations (
  version    int primary key,
  name       text not null,
  checksum   text not null,
  applied_at timestamptz not null default clock_timestamp()
);
`;

/** The tables of today at once where nothing is installed; else each migration that is missing. */
function upgradeSql(
  { tables, indexes, migrations, checksum }: SqlParts,
  names: readonly string[],
): string {
  const texts = [tables, indexes, ...migrations.map(({ sql }) => sql), ...names];
  const block = freeTag("upgrade", texts);
  const tag = freeTag("sql", texts);
  const run = (sql: string): string => `execute ${tag}\n${sql}\n${tag};`;
  const record = ({ version, name }: Pick<Migration, "version" | "name">): string =>
    `insert into leasehold.migrations (version, name, checksum) values (${version}, '${name}', '${checksum}');`;
  const upgrades = migrations.map(
    (
      migration,
    ) => `if not exists (select from leasehold.migrations m where m.version = ${migration.version}) then
${run(migration.sql)}
${record(migration)}
end if;
`,
  );
  return `do ${block}
begin
if not exists (select from leasehold.migrations) then
${run(`${tables}\n${indexes}`)}
${[{ version: 1, name: "initial" }, ...migrations].map(record).join("\n")}
end if;
${upgrades.join("")}end
${block};
`;
}

/** Where it is not asked for now, it is made anew only where it is there. */
function myJobSql(sql: string, asked: boolean, names: readonly string[]): string {
  if (sql === "") return "";
  const block = freeTag("optional", [sql, ...names]);
  const tag = freeTag("sql", [sql, ...names]);
  return `do ${block}
begin
if ${asked || "to_regprocedure(format('%I.my_job(uuid)', '{{schema}}')) is not null"} then
  if to_regprocedure('auth.uid()') is null or to_regrole('authenticated') is null then
    raise exception using errcode = 'LH002',
      message = 'my_job needs the function auth.uid() and the role authenticated, as Supabase has them',
      hint = 'Leave it out in a database that is not Supabase''s.';
  end if;
  execute ${tag}
${sql}
${tag};
end if;
end
${block};
`;
}

/** PostgREST, where it runs before this database, calls what it knew when it last looked. */
const reloadSql = "notify pgrst, 'reload schema';\n";

const recordSql = (
  version: number,
  checksum: string,
): string => `update leasehold.migrations m set checksum = '${checksum}'
where m.version = ${version} and m.checksum <> '${checksum}';
`;
