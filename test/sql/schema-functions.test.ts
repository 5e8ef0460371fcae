import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { argumentTypes, type FunctionName, isRowFunction } from "../../src/functions.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";

const shortTypes: Record<string, string> = {
  integer: "int",
  "timestamp with time zone": "timestamptz",
};

describe.each(backends)("the installed functions on %s", (backend) => {
  let db: TestDatabase;
  let functions: Record<string, unknown>[];

  beforeAll(async () => {
    db = await openTestDatabase(backend);
    functions = await db.query(`
      select p.proname as name, p.prosecdef as definer, p.proretset as rows, l.lanname as language,
        p.oid::regprocedure::text as signature,
        (select s from unnest(p.proconfig) s where s like 'search_path=%') as path,
        (select jsonb_object_agg(p.proargnames[i], format_type(p.proargtypes[i - 1], null))
          from generate_series(1, p.pronargs) i) as types,
        p.proargnames[1:p.pronargs] as names
      from pg_proc p join pg_language l on l.oid = p.prolang
      where p.pronamespace = 'leasehold'::regnamespace order by 1`);
  });
  afterAll(() => db.close());

  const isPublic = ({ name }: Record<string, unknown>) => !String(name).startsWith("_");

  test("each name stands for one function", () => {
    const names = functions.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  test("the public ones are those that the client knows, argument by argument", () => {
    const installed = functions.filter(isPublic).map(({ name, names, types }) => {
      const all = Object.entries((types ?? {}) as Record<string, string>);
      const byName = Object.fromEntries(
        all.map(([argument, type]) => [
          argument,
          type.replace(/^[a-z ]+/, (t) => shortTypes[t] ?? t),
        ]),
      );
      const inOrder = ((names ?? []) as string[]).map((argument) => [argument, byName[argument]]);
      return [name, inOrder];
    });
    const known = Object.entries(argumentTypes).map(([name, types]) => [
      name,
      Object.entries(types),
    ]);
    expect(installed).toEqual(known.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
  });

  test("those that answer rows are those that the client reads as rows", () => {
    for (const { name, rows } of functions.filter(isPublic)) {
      expect([name, isRowFunction(name as FunctionName)]).toEqual([name, rows]);
    }
  });

  test("every one has a pinned search_path in which pg_temp can't shadow", () => {
    for (const { name, path } of functions) {
      expect([name, path]).toEqual([
        name,
        expect.stringMatching(/^search_path=(""|pg_catalog, pg_temp)$/),
      ]);
    }
  });

  test("every public one runs with its owner's rights, and no internal one does", () => {
    for (const one of functions) expect([one.name, one.definer]).toEqual([one.name, isPublic(one)]);
  });

  test("every body is valid", async () => {
    for (const { signature, language } of functions) {
      const validator = language === "plpgsql" ? "plpgsql_validator" : `fmgr_${language}_validator`;
      await db.query(`select ${validator}($1::regprocedure)`, [signature]);
    }
  });

  test("every table has row level security", async () => {
    const open = await db.query(`select relname from pg_class
      where relnamespace = 'leasehold'::regnamespace and relkind = 'r' and not relrowsecurity`);
    expect(open).toEqual([]);
  });
});
