import type { Queryable } from "../../support/queryable.ts";

/** A rule that an installed schema broke, and where. */
export interface Finding {
  rule: string;
  object: string;
}

/**
 * What Supabase's public linter asks of a database, as far as SQL can break it: each query answers the
 * objects of the schemas $1 that break the rule. Named as the linter names its rules.
 */
const rules: Readonly<Record<string, string>> = {
  // An index whose first columns are those of the key, in whatever order.
  unindexed_foreign_keys: `select k.conname::text as object from pg_constraint k
    where k.connamespace = any ($1::regnamespace[]) and k.contype = 'f' and not exists (
      select from pg_index i where i.indrelid = k.conrelid and i.indpred is null
        and (i.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey)`,
  no_primary_key: `select c.oid::regclass::text as object from pg_class c
    where c.relnamespace = any ($1::regnamespace[]) and c.relkind = 'r' and not exists (
      select from pg_index i where i.indrelid = c.oid and i.indisprimary)`,
  multiple_permissive_policies: `select p.polrelid::regclass::text as object from pg_policy p
    join pg_class c on c.oid = p.polrelid
    where c.relnamespace = any ($1::regnamespace[]) and p.polpermissive group by p.polrelid having count(*) > 1`,
  policy_exists_rls_disabled: `select c.oid::regclass::text as object from pg_class c
    where c.relnamespace = any ($1::regnamespace[]) and not c.relrowsecurity
      and exists (select from pg_policy p where p.polrelid = c.oid)`,
  rls_enabled_no_policy: `select c.oid::regclass::text as object from pg_class c
    where c.relnamespace = any ($1::regnamespace[]) and c.relrowsecurity
      and not exists (select from pg_policy p where p.polrelid = c.oid)`,
  rls_disabled: `select c.oid::regclass::text as object from pg_class c
    where c.relnamespace = any ($1::regnamespace[]) and c.relkind in ('r', 'p') and not c.relrowsecurity`,
  rls_policy_always_true: `select p.polrelid::regclass::text as object from pg_policy p
    join pg_class c on c.oid = p.polrelid
    where c.relnamespace = any ($1::regnamespace[])
      and 'true' in (pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))`,
  duplicate_index: `select min(pg_get_indexdef(i.indexrelid)) as object from pg_index i
    join pg_class c on c.oid = i.indrelid where c.relnamespace = any ($1::regnamespace[])
    group by i.indrelid, i.indkey::text, i.indclass::text, i.indoption::text, i.indcollation::text,
      pg_get_expr(i.indpred, i.indrelid), pg_get_expr(i.indexprs, i.indrelid) having count(*) > 1`,
  invalid_index: `select i.indexrelid::regclass::text as object from pg_index i
    join pg_class c on c.oid = i.indrelid
    where c.relnamespace = any ($1::regnamespace[]) and not (i.indisvalid and i.indisready)`,
  // Views run as their owner unless told otherwise; materialized and foreign ones know no policies.
  view_in_api: `select c.oid::regclass::text as object from pg_class c
    where c.relnamespace = any ($1::regnamespace[]) and c.relkind in ('v', 'm', 'f')`,
  function_search_path_mutable: `select p.oid::regprocedure::text as object from pg_proc p
    where p.pronamespace = any ($1::regnamespace[]) and not exists (
      select from unnest(p.proconfig) setting where starts_with(setting, 'search_path='))`,
  anon_security_definer_function_executable: executableBy("anon"),
  authenticated_security_definer_function_executable: executableBy("authenticated"),
  extension_in_public: `select e.extname::text as object from pg_extension e
    where e.extnamespace = 'public'::regnamespace and $1::text[] is not null`,
};

function executableBy(role: string): string {
  return `select p.oid::regprocedure::text as object from pg_proc p
    where p.pronamespace = any ($1::regnamespace[]) and p.prosecdef
      and has_function_privilege('${role}', p.oid, 'execute')`;
}

export async function lint(
  { query }: Pick<Queryable, "query">,
  schemas: readonly string[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [rule, text] of Object.entries(rules)) {
    for (const { object } of await query(text, [schemas])) findings.push({ rule, object });
  }
  return findings;
}
