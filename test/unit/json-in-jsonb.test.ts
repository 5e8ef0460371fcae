import { PGlite } from "@electric-sql/pglite";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { maxJsonDepth, toJson } from "../../src/json.ts";

let postgres: PGlite;

beforeAll(async () => {
  postgres = await PGlite.create();
});

afterAll(() => postgres.close());

/** What comes back of each text, after jsonb has read and written it. */
async function throughJsonb(texts: string[]): Promise<unknown[]> {
  const { rows } = await postgres.query<{ stored: string }>(
    "select json::jsonb::text as stored from unnest($1::text[]) with ordinality u(json, n) order by n",
    [texts],
  );
  return rows.map(({ stored }) => JSON.parse(stored));
}

const storable = fc.oneof(
  fc.anything({ withNullPrototype: true, withUnicodeString: true, withDate: true }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: "binary" }),
);

test("whatever toJson gives survives jsonb unchanged", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(storable, { minLength: 50, maxLength: 100 }), async (values) => {
      const texts = values.flatMap((value) => {
        try {
          return [toJson(value)];
        } catch {
          return []; // Refused, which test/unit/fuzz.test.ts judges.
        }
      });
      expect(await throughJsonb(texts)).toEqual(texts.map((text) => JSON.parse(text)));
    }),
    { numRuns: 50 },
  );
});

test("so do the edges of numbers, text, keys and depth", async () => {
  let deep: unknown = 1;
  for (let level = 0; level < maxJsonDepth; level++) deep = level % 2 === 0 ? [deep] : { a: deep };
  const edges = [
    [Number.MAX_VALUE, Number.MIN_VALUE, -1.2345678901234567e-308, 2 ** 53 + 2, -0, 1e21],
    ["\u0001\u001f\u007f\u0085\u2028\ufffe\uffff😀", "", "\\u0000"],
    JSON.parse('{"__proto__": 1, "": 2, " ": 3, "constructor": 4}'),
    deep,
  ];
  const texts = edges.map((edge) => toJson(edge));
  expect(await throughJsonb(texts)).toEqual(texts.map((text) => JSON.parse(text)));
});
