import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { argumentTypes } from "../../src/functions.ts";
import { migrate } from "../../src/schema/index.ts";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";
import { publicFunctions, tour } from "./support/tour.ts";

describe.each(backends)("grants on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { query, value, session } = fixture;
  const made: string[] = [];

  /** A role of a name that no other test has: on PostgreSQL, roles belong to the whole server. */
  async function makeRole(name = `leasehold_test_${randomBytes(6).toString("hex")}`) {
    await query(`create role ${name} nologin`);
    made.push(name);
    return name;
  }

  afterEach(async () => {
    for (const role of made.splice(0)) await query(`drop owned by ${role}; drop role ${role}`);
  });

  const callable = async (role: string) =>
    (
      await query(
        `select p.proname as name from pg_proc p where p.pronamespace = 'leasehold'::regnamespace
         and has_schema_privilege($1, p.pronamespace, 'usage')
         and has_function_privilege($1, p.oid, 'execute') order by 1`,
        [role],
      )
    ).map(({ name }) => name);

  test("a granted role calls every function, and reaches nothing else", async () => {
    const role = await makeRole();
    await migrate(fixture.db.database, { roles: [role] });
    const names = (await query(publicFunctions, ["leasehold"])).map(({ name }) => name);
    expect(await callable(role)).toEqual(names);
    await session(async (own) => {
      await own.query(`set role ${role}`);
      expect([...(await tour(own))].sort()).toEqual(names);
      for (const table of await relations()) {
        for (const statement of [`select from ${table}`, `delete from ${table}`]) {
          await expect(own.query(statement), statement).rejects.toMatchObject({ code: "42501" });
        }
      }
      await expect(own.query("select leasehold._kinds_queued()")).rejects.toMatchObject({
        code: "42501",
      });
      await expect(own.query("create table leasehold.mine (id int)")).rejects.toMatchObject({
        code: "42501",
      });
    });
  });

  test("a role that was not granted calls nothing, even where it may use the schema", async () => {
    const [role, granted] = [await makeRole(), await makeRole()];
    await migrate(fixture.db.database, { roles: [granted] });
    await session(async (own) => {
      await own.query(`set role ${role}`);
      await expect(own.call("stats")).rejects.toMatchObject({ code: "42501" });
    });
    await query(`grant usage on schema leasehold to ${role}`);
    expect(await callable(role)).toEqual([]);
    const privileges = "select, insert, update, delete, truncate, references, trigger";
    for (const table of await relations()) {
      expect(await value("select has_table_privilege($1, $2, $3)", [role, table, privileges])).toBe(
        false,
      );
    }
  });

  // On PostgreSQL these roles would stand in the way of other tests of the same server.
  describe.runIf(backend === "pglite")("where Supabase's roles exist", () => {
    test("service_role is granted by itself; anon and authenticated reach nothing", async () => {
      for (const role of ["anon", "authenticated", "service_role"]) await makeRole(role);
      await query(
        `alter default privileges in schema leasehold grant execute on functions to anon;
         grant usage on schema leasehold to anon, authenticated;
         grant execute on all functions in schema leasehold to anon, authenticated`,
      );
      await query("update leasehold.migrations set checksum = 'older'");
      await migrate(fixture.db.database);
      expect([await callable("anon"), await callable("authenticated")]).toEqual([[], []]);
      await query("grant usage on schema leasehold to anon, authenticated");
      expect([await callable("anon"), await callable("authenticated")]).toEqual([[], []]);
      expect(await callable("service_role")).toHaveLength(Object.keys(argumentTypes).length);
      await session(async (own) => {
        await own.query("set role service_role");
        await tour(own);
      });
    });

    test.each(["anon", "authenticated"])("%s can't be granted by mistake", async (role) => {
      await makeRole(role);
      await expect(migrate(fixture.db.database, { roles: [role] })).rejects.toMatchObject({
        code: "LH002",
      });
      expect(await callable(role)).toEqual([]);
    });
  });

  const relations = async (): Promise<string[]> =>
    (
      await query(
        `select oid::regclass::text as name from pg_class
         where relnamespace = 'leasehold'::regnamespace and relkind in ('r', 'p')`,
      )
    ).map(({ name }) => name);
});
