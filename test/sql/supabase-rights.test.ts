import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { argumentTypes } from "../../src/functions.ts";
import { migrate, renderWakeups, schemaVersion } from "../../src/schema/index.ts";
import {
  type Role,
  type SupabaseServer,
  startSupabase,
  supabaseServers,
} from "../support/supabase-server.ts";
import { lint } from "./support/linter.ts";

const strangers = ["anon", "authenticated"] as const;

describe.each(supabaseServers)("rights on Supabase's %s", (_, programs) => {
  let server: SupabaseServer;
  let reload: Promise<string | undefined>;

  beforeAll(async () => {
    server = await startSupabase(programs);
    const listener = new pg.Client(server.url);
    await listener.connect();
    await listener.query("listen pgrst");
    reload = new Promise((resolve) => {
      listener.once("notification", ({ payload }) => resolve(payload));
    });
    // The worst of defaults: whatever is made in the schema is everyone's.
    await server.query(
      `create schema leasehold;
       alter default privileges in schema leasehold grant all on tables to anon, authenticated, service_role;
       alter default privileges in schema leasehold grant all on functions to anon, authenticated;
       alter default privileges in schema leasehold grant all on sequences to anon, authenticated, service_role`,
    );
    await migrate(server.database);
    void reload.then(() => listener.end());
  });
  afterAll(() => server?.stop());

  /** What the role reaches of all that is in the schema, by trying: nothing is asked by name. */
  async function reached(role: Role): Promise<string[]> {
    const attempts = await server.query(
      `select p.oid::regprocedure::text as object, format('select leasehold.%I(%s)', p.proname,
           (select string_agg('null::' || format_type(t, null), ', ' order by i)
            from unnest(p.proargtypes) with ordinality a (t, i))) as statement
         from pg_proc p where p.pronamespace = 'leasehold'::regnamespace
       union all
       select c.oid::regclass::text || ' ' || verb, format(statement, c.oid::regclass)
         from pg_class c, (values ('select', 'select from %s'), ('insert', 'insert into %s default values'),
           ('delete', 'delete from %s'), ('truncate', 'truncate %s')) v (verb, statement)
         where c.relnamespace = 'leasehold'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
       union all
       select c.oid::regclass::text, format('select nextval(%L)', c.oid::regclass)
         from pg_class c where c.relnamespace = 'leasehold'::regnamespace and c.relkind = 'S'
       union all select 'create', 'create table leasehold.mine (id int)'`,
    );
    expect(attempts.length).toBeGreaterThan(Object.keys(argumentTypes).length);
    const answers = await Promise.all(
      attempts.map(({ object, statement }) =>
        server.as(role, statement).then(
          () => object,
          (error: { code: string }) => (error.code === "42501" ? undefined : object),
        ),
      ),
    );
    return answers.filter((object) => object !== undefined);
  }

  const nothingReached = async () => {
    for (const role of strangers) expect(await reached(role), role).toEqual([]);
  };

  test("PostgREST is told to look at the schema again", async () => {
    expect(await reload).toBe("reload schema");
  });

  test("anon and authenticated reach no function, no table and no sequence", async () => {
    await nothingReached();
  });

  test("not even where they may use the schema", async () => {
    await server.query("grant usage on schema leasehold to anon, authenticated");
    await nothingReached();
    await migrate(server.database, { roles: ["service_role"] });
    for (const role of strangers) {
      const usage = "select has_schema_privilege($1, 'leasehold', 'usage') as may";
      expect(await server.query(usage, [role])).toEqual([{ may: false }]);
    }
  });

  test("service_role may call each public function, and nothing else", async () => {
    const functions = await server.query(
      `select proname as name, has_function_privilege('service_role', oid, 'execute') as may,
         exists (select from aclexplode(proacl) a join pg_roles r on r.oid = a.grantee
           where r.rolname = 'service_role') as granted
       from pg_proc where pronamespace = 'leasehold'::regnamespace`,
    );
    for (const { name, may, granted } of functions) {
      expect([name, may, granted]).toEqual([name, !name.startsWith("_"), !name.startsWith("_")]);
    }
    const tables = (await reached("service_role")).filter((object) => !object.includes("("));
    expect(tables).toEqual([]);
    const [answer] = await server.as(
      "service_role",
      "select leasehold.enqueue('rights') as answer",
    );
    expect(answer?.answer).toMatchObject({ outcome: "created" });
  });

  test("what is added later by mistake is found, and closed at the next migration", async () => {
    await server.query(
      `grant usage on schema leasehold to anon, authenticated;
       create function leasehold.later() returns int language sql as 'select 1';
       create table leasehold.later_table (id int)`,
    );
    const verbs = ["delete", "insert", "select", "truncate"];
    const expected = ["leasehold.later()", ...verbs.map((verb) => `leasehold.later_table ${verb}`)];
    for (const role of strangers) {
      // Default privileges gave all of it away, save that a schema is not made by them.
      expect((await reached(role)).sort(), role).toEqual(expected);
    }
    await migrate(server.database, { roles: ["service_role"] });
    await server.query("grant usage on schema leasehold to anon, authenticated");
    await nothingReached();
    expect(await server.query("select to_regproc('leasehold.later') as f")).toEqual([{ f: null }]);
    await server.query("drop table leasehold.later_table");
  });

  test("nor after an upgrade from the schema before, whose new tables the defaults give away", async () => {
    await server.query(
      `drop table leasehold.cache, leasehold.accounts, leasehold.holds, leasehold.entries, leasehold.alerts cascade;
       alter table leasehold.jobs drop column money cascade, drop column cost cascade, drop column account,
         drop column external, drop column settle_after, drop column trace_context;
       drop type leasehold.finished_and_claimed cascade;
       alter type leasehold.claimed_job drop attribute trace_context;
       drop table leasehold.drains;
       drop index leasehold.jobs_failed_at, leasehold.job_events_lapses;
       drop function leasehold.credits(text), leasehold.cache_begin(text, int);
       grant usage on schema leasehold to anon, authenticated;
       grant execute on all functions in schema leasehold to anon, authenticated, public;
       delete from leasehold.migrations where version > 2`,
    );
    expect(await migrate(server.database)).toEqual({ changed: true, version: schemaVersion });
    await server.query("grant usage on schema leasehold to anon, authenticated");
    await nothingReached();
    const [answer] = await server.as("service_role", "select leasehold.credits('ann') as answer");
    expect(answer?.answer).toEqual({ account: "ann", available: 0, held: 0 });
  });

  test("the rules of Supabase's linter are kept", async () => {
    await server.query(renderWakeups());
    expect(await lint(server, ["leasehold", "leasehold_wakeups"])).toEqual([]);
  });

  test.each([
    [
      "unindexed_foreign_keys",
      "create table leasehold.x (id int primary key references leasehold.jobs2, j int references leasehold.jobs2)",
    ],
    ["rls_disabled", "create table leasehold.x (id int primary key)"],
    ["no_primary_key", "create table leasehold.x (id int)"],
    [
      "duplicate_index",
      "create index x on leasehold.jobs2 (id); create index y on leasehold.jobs2 (id)",
    ],
    [
      "function_search_path_mutable",
      "create function leasehold.x() returns int language sql as 'select 1'",
    ],
    [
      "anon_security_definer_function_executable",
      "create function leasehold.x() returns int language sql security definer as 'select 1'",
    ],
    [
      "authenticated_security_definer_function_executable",
      "grant execute on function leasehold.stats() to authenticated",
    ],
    ["view_in_api", "create view leasehold.x as select 1"],
    ["rls_policy_always_true", "create policy x on leasehold.jobs2 using (true)"],
    ["rls_enabled_no_policy", "alter table leasehold.jobs2 enable row level security"],
    ["policy_exists_rls_disabled", "create policy x on leasehold.jobs2 using (false)"],
    [
      "multiple_permissive_policies",
      "create policy x on leasehold.jobs2 using (false); create policy y on leasehold.jobs2 using (false)",
    ],
    ["extension_in_public", "update pg_extension set extnamespace = 'public'::regnamespace"],
  ])("and this test would see %s", async (rule, fault) => {
    const client = await server.pool.connect();
    try {
      await client.query("begin; create table leasehold.jobs2 (id int primary key)");
      await client.query(fault);
      const query = async (text: string, values?: unknown[]) =>
        (await client.query(text, values)).rows;
      const found = await lint({ query }, ["leasehold", "leasehold_wakeups"]);
      expect(found.map((finding) => finding.rule)).toContain(rule);
    } finally {
      await client.query("rollback");
      client.release();
    }
  });

  describe("my_job", () => {
    const [ann, bob] = [randomUUID(), randomUUID()];
    const ask = async (id: string, user?: string) => {
      const [row] = await server.as("authenticated", "select leasehold.my_job($1)", [id], user);
      return row?.my_job;
    };
    const job = async (options: object) => {
      const enqueue = "select leasehold.enqueue('assess', '{}', $1) as answer";
      return (await server.query(enqueue, [options]))[0]?.answer.id as string;
    };

    test("is not there unless it is asked for", async () => {
      await migrate(server.database);
      expect(await server.query("select to_regproc('leasehold.my_job') as f")).toEqual([
        { f: null },
      ]);
      await migrate(server.database, { myJob: true });
      expect(await reached("authenticated")).toEqual(["leasehold.my_job(uuid)"]);
      expect(await reached("anon")).toEqual([]);
    });

    test("shows the status of own jobs, and nothing of anyone else's", async () => {
      const own = await job({ owner: ann });
      expect(await ask(own, ann)).toEqual({
        ...{ id: own, status: "queued", progress: null, result: null, error_code: null },
        ...{ cancel_requested: false, money: null, notice: "queued", finished_at: null },
        ...{ created_at: expect.any(String), started_at: null },
      });
      expect(await ask(own, bob)).toBeNull();
      expect(await ask(randomUUID(), ann)).toBeNull();
      const nobodys = await job({});
      // Not signed in, a blank subject, a job without an owner.
      for (const user of [undefined, "", ann]) expect(await ask(nobodys, user), user).toBeNull();
      expect(await ask(own)).toBeNull();
    });

    test("reaps, as every question for a status does", async () => {
      const orphan = await job({ owner: ann, max_attempts: 1 });
      await server.query("select from leasehold.claim_job($1)", [orphan]);
      await server.query(
        "update leasehold.jobs set lease_until = now() - interval '1 s' where id = $1",
        [orphan],
      );
      const gone = { status: "failed", error_code: "LEASE_EXPIRED" };
      expect(await ask(orphan, ann)).toMatchObject(gone);
    });

    test("stays through migrations that do not name it, and through upgrades", async () => {
      await server.query("update leasehold.migrations set checksum = 'older'");
      await server.query("drop function leasehold.stats()");
      await migrate(server.database);
      expect(await reached("authenticated")).toEqual(["leasehold.my_job(uuid)"]);
      expect(await ask(await job({ owner: ann }), ann)).toMatchObject({ status: "queued" });
      const found = await lint(server, ["leasehold"]);
      // The linter tells of it, and should: a person has asked for just that.
      expect(found).toEqual([
        {
          rule: "authenticated_security_definer_function_executable",
          object: "leasehold.my_job(uuid)",
        },
      ]);
    });

    test("is taken away by myJob: false", async () => {
      await migrate(server.database, { myJob: false });
      expect(await reached("authenticated")).toEqual([]);
      expect(await lint(server, ["leasehold"])).toEqual([]);
    });

    test("needs Supabase's auth.uid()", async () => {
      await server.query("alter schema auth rename to elsewhere");
      try {
        await expect(migrate(server.database, { myJob: true })).rejects.toMatchObject({
          code: "LH002",
          message: expect.stringContaining("auth.uid()"),
        });
        expect(await migrate(server.database)).toMatchObject({ changed: false });
      } finally {
        await server.query("alter schema elsewhere rename to auth");
      }
    });
  });
});
