import { expect, test } from "vitest";
import { signaturesOf } from "../../src/schema/signatures.ts";

const define = (head: string): string =>
  `create or replace function leasehold.${head} language sql`;

test.each([
  ["stats()\nreturns jsonb", "stats() jsonb"],
  ["f(p_a int, p_b text[] default '{}')\nreturns boolean", "f(p_a int4,p_b _text) bool"],
  ["f(p_a bigint default null, p_b text = 'x, y')\nreturns void", "f(p_a int8,p_b text) void"],
  ["f(p_a leasehold.jobs)\nreturns setof leasehold.claimed_job", "f(p_a jobs) setof claimed_job"],
  [
    "f(p_a int)\nreturns table (id uuid, at timestamptz)",
    "f(p_a int4,id uuid,at timestamptz) table",
  ],
])("%s", (head, expected) => {
  expect(signaturesOf(define(head))).toEqual([expected]);
});
