import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";
import { publicFunctions, tour } from "./support/tour.ts";

const schema = 'My "Jobs"';

describe.each(backends)("a schema called %s", (backend) => {
  const calls = useDatabase(backend, { schema });

  test(`every function works in ${schema}`, async () => {
    const names = (await calls.query(publicFunctions, [schema])).map(({ name }) => name);
    await calls.session(async (own) => {
      expect([...(await tour(own))].sort()).toEqual(names);
    });
    expect(await calls.query("select from pg_namespace where nspname = 'leasehold'")).toEqual([]);
  });
});
