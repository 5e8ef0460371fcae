import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { type Calls, useDatabase } from "./support/calls.ts";
import { publicFunctions, tour } from "./support/tour.ts";

const types = [
  "text",
  "uuid",
  "jsonb",
  "timestamptz",
  "int4",
  "int8",
  "numeric",
  "bool",
  "regclass",
];
const unused = "00000000-0000-7000-8000-000000000000";
const paths = [
  "pg_temp, pg_catalog",
  "evil, pg_temp, pg_catalog",
  '"$user", evil, public',
  "''",
  '"leasehold", evil',
];

describe.each(backends)("S41: what a session brings along, on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { query, session, count } = fixture;

  test("its temporary tables, domains and operators shadow nothing", async () => {
    await makeEvilSchema();
    const names = (await query(publicFunctions, ["leasehold"])).map(({ name }) => name);
    // The parser is the same on both, and slow on PGlite.
    for (const path of backend === "postgres" ? paths : paths.slice(0, 2)) {
      await fixture.db.reset();
      await session(async (own) => {
        await makeTemporary(own);
        await own.query(`set search_path = ${path}`);
        if (path.startsWith("evil")) {
          await expect(
            own.query("select $1::pg_catalog.uuid = $1::pg_catalog.uuid", [unused]),
          ).rejects.toThrow("evil");
        }
        expect([...(await tour(own))].sort(), path).toEqual(names);
        await own.query("set search_path = pg_catalog");
        for (const table of await tables()) {
          const rows = await own.query(`select from pg_temp.${table}`);
          expect(rows, `${table} with ${path}`).toHaveLength(table === "jobs" ? 1 : 0);
        }
      });
      expect([await count("once"), await count("kinds")]).toEqual([2, 1]);
    }
    await query("drop schema evil cascade");
  });

  const tables = async (): Promise<string[]> =>
    (
      await query(
        "select tablename as name from pg_catalog.pg_tables where schemaname = 'leasehold' order by 1",
      )
    ).map(({ name }) => name);

  /** Tables with the product's names, one with a job in it, and types that raise when used. */
  async function makeTemporary(own: Calls): Promise<void> {
    for (const table of await tables()) {
      await own.query(`create temp table ${table} (like leasehold.${table} including all)`);
    }
    await own.query(`insert into pg_temp.jobs (id, kind) values (gen_random_uuid(), 'k')`);
    await own.query("create temp table claimed_job (shadow int)");
    await own.query(
      `create function pg_temp.trap() returns boolean language plpgsql
       as 'begin raise exception ''shadowed''; end'`,
    );
    for (const type of types) {
      await own.query(`create domain pg_temp.${type} as pg_catalog.${type} check (pg_temp.trap())`);
    }
    await expect(own.query("select 'x'::pg_temp.text")).rejects.toThrow("shadowed");
  }

  /** A schema with functions and operators that raise when used. */
  async function makeEvilSchema(): Promise<void> {
    await query("create schema evil");
    for (const [signature, answer] of [
      ["clock_timestamp()", "timestamptz"],
      ["gen_random_uuid()", "uuid"],
      ["jsonb_typeof(jsonb)", "text"],
      ["jsonb_build_object(variadic text[])", "jsonb"],
      ["to_jsonb(text)", "jsonb"],
      ["octet_length(text)", "int"],
      ["format(text, variadic text[])", "text"],
      ["equal(uuid, uuid)", "boolean"],
      ["get(jsonb, text)", "text"],
      ["less(timestamptz, timestamptz)", "boolean"],
    ]) {
      await query(
        `create function evil.${signature} returns ${answer} language plpgsql
         as 'begin raise exception ''evil''; end'`,
      );
    }
    await query(
      `create operator evil.= (leftarg = uuid, rightarg = uuid, function = evil.equal);
       create operator evil.->> (leftarg = jsonb, rightarg = text, function = evil.get);
       create operator evil.<= (leftarg = timestamptz, rightarg = timestamptz, function = evil.less)`,
    );
  }
});
