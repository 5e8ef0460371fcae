import { describe, expect, test } from "vitest";
import { type errorCodes, LeaseholdError } from "../../src/errors.ts";
import {
  applySchemaName,
  checkSchemaName,
  freeTag,
  isIdentifier,
} from "../../src/schema/schema-name.ts";

const apply = (sql: string, name = "jobs"): string => applySchemaName(sql, name);

describe("the schema's name in SQL text", () => {
  test.each([
    ["leasehold.jobs", '"jobs".jobs'],
    ["leasehold._reap(leasehold.jobs)", '"jobs"._reap("jobs".jobs)'],
    ['leasehold."Odd"', '"jobs"."Odd"'],
    ["create schema leasehold;", 'create schema "jobs";'],
    ["create schema if not exists leasehold;", 'create schema if not exists "jobs";'],
    ["drop schema if exists leasehold cascade", 'drop schema if exists "jobs" cascade'],
    ["on all tables in SCHEMA\n  leasehold to x", 'on all tables in SCHEMA\n  "jobs" to x'],
    ["$$ select leasehold.f() $$", '$$ select "jobs".f() $$'],
  ])("%s is rewritten", (sql, expected) => {
    expect(apply(sql)).toBe(expected);
  });

  test.each([
    "'leasehold.jobs'",
    "'it''s leasehold.jobs'",
    "e'it\\'s leasehold.jobs'",
    '"leasehold.jobs"',
    '"a""leasehold.jobs"',
    "-- don't touch leasehold.jobs",
    "/* don't touch leasehold.jobs */",
    "other.leasehold.jobs",
    "my_leasehold.jobs",
    "leaseholder.jobs",
    "select leasehold from x",
    "leasehold . jobs",
    "if exists leasehold",
    "'{schema} leasehold.x",
  ])("%s stays", (sql) => {
    expect(apply(sql)).toBe(sql);
  });

  test("what follows a literal or comment is rewritten again", () => {
    const sql = "-- don't\nleasehold.a 'it''s' leasehold.b /* ' */ leasehold.c e'\\'' leasehold.d";
    expect(apply(sql).match(/"jobs"\.[abcd]/g)).toEqual([
      '"jobs".a',
      '"jobs".b',
      '"jobs".c',
      '"jobs".d',
    ]);
  });

  test("the placeholder counts within literals alone", () => {
    expect(apply("'{{schema}}.x' -- {{schema}}", "it's")).toBe("'it''s.x' -- {{schema}}");
  });

  test("quotes and replacement patterns in the name are only text", () => {
    expect(apply("leasehold.x '{{schema}}'", "a\"b$&$1$'")).toBe(`"a""b$&$1$'".x 'a"b$&$1$'''`);
  });

  test("a name with a dollar sign can't end a body", () => {
    expect(apply("$$ leasehold.f() $$", "a$$b")).toBe('$body$ "a$$b".f() $body$');
    expect(apply("$$ leasehold.f() $$", "$body$")).toBe('$body_1$ "$body$".f() $body_1$');
  });

  test("other inserted names decide the tag too", () => {
    expect(applySchemaName("$$ x $$", "jobs", ["jobs", "role$$"])).toBe("$body$ x $body$");
  });
});

test("a free tag occurs in none of the texts", () => {
  expect(freeTag("sql", ["$sql$", "$sql_1$"])).toBe("$sql_2$");
});

describe("a schema name", () => {
  test.each(["leasehold", 'My "Jobs" $$ x', "задания", "x".repeat(63), "é".repeat(31), " "])(
    "may be %s",
    (name) => {
      expect(() => checkSchemaName(name)).not.toThrow();
    },
  );

  test.each([
    "",
    "a\0b",
    "x".repeat(64),
    "é".repeat(32),
    "\ud800",
    "pg_jobs",
    "public",
    "information_schema",
    undefined,
    7,
  ])("can't be %j", (name) => {
    const attempt = (): void => checkSchemaName(name);
    expect(attempt).toThrow(LeaseholdError);
    expect(attempt).toThrow(
      expect.objectContaining({ code: "LH002" satisfies keyof typeof errorCodes }),
    );
  });

  test("is measured in bytes, as PostgreSQL cuts it", () => {
    expect(isIdentifier("😀".repeat(15))).toBe(true);
    expect(isIdentifier("😀".repeat(16))).toBe(false);
  });
});
