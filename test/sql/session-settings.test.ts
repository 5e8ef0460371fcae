import { describe, expect, test } from "vitest";
import { useDatabase } from "./support/calls.ts";
import { tour } from "./support/tour.ts";

const settings = [
  "timezone = 'Asia/Kathmandu'",
  "datestyle = 'SQL, DMY'",
  "intervalstyle = 'sql_standard'",
  "bytea_output = 'escape'",
  "extra_float_digits = 0",
  "array_nulls = off",
  "transform_null_equals = on",
  "quote_all_identifiers = on",
  "standard_conforming_strings = off",
  "row_security = off",
  "default_transaction_isolation = 'serializable'",
  "plpgsql.variable_conflict = 'use_column'",
  "plpgsql.extra_errors = 'all'",
  "plan_cache_mode = 'force_custom_plan'",
  "plan_cache_mode = 'force_generic_plan'",
  "check_function_bodies = off",
  "xmlbinary = hex",
];

describe("a session's settings on postgres", () => {
  const { session } = useDatabase("postgres");

  test.each(settings)("with %s, every function answers the same", async (setting) => {
    await session(async (own) => {
      await own.query(`set ${setting}`);
      expect((await tour(own)).size).toBeGreaterThan(20);
    });
  });
});
